-- A clock that politeness keys share. Included in the operations that use it, after shard.lua.
--
-- Its value: the time at which it is free, or at which its claim ends at the latest (epoch seconds), the pause owed
-- then, and its holder as member and ticket, empty for none. It expires a while after nothing is owed any more.

local KEPT_SECONDS = 60
local POLL_SECONDS = 0.05

local function store(key, now, at, pause, holder)
    local left = math.max(at + pause - now, 0) + KEPT_SECONDS
    call('SET', key, pack('<dd', at, pause) .. holder, 'PX', string.format('%d', math.ceil(left * 1000)))
end

local function claim(key, now, ends, pause, holder)
    store(key, now, ends, pause, holder)
end

-- When it is free, as far as that is known, and its holder. A holder that is no member any more had it until now.
local function clock_state(key, now, pause)
    local value = call('GET', key)
    if not value then
        return 0, ''
    end
    local at, owed = unpacked('<dd', value)
    local holder = sub(value, 17)
    if holder == '' then
        return at, ''
    end
    local ends = call('ZSCORE', MEMBERS, string.match(holder, '^(.*) '))
    local ended = math.min(at, ends and tonumber(ends) or now)
    if ended > now then
        return now + POLL_SECONDS, holder
    end
    at = ended + math.max(owed, pause)
    store(key, now, at, 0, '')
    return at, ''
end
