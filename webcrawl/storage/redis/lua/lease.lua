-- lease: make idle keys active whose time has come
-- uses: shard leases
--
-- KEYS[1..10]  the shard's own, see shard.lua
-- ARGV[1]     epoch seconds, '' for the server's clock: decides when leases end
-- ARGV[2]     epoch seconds: decides which keys are due
-- ARGV[3]     the caller's name as a member
-- ARGV[4..]   pairs: level, number of keys
-- Returns     {fence, key, its value in `hosts`, ...}; {0} if the caller's own lease has ended or keys may not be
--             leased yet (see recover.lua)

local now, due, me = clock(ARGV[1]), due_bytes(ARGV[2]), ARGV[3]
take_over_expired(now, tonumber(ARGV[2]))
local ends = redis.call('ZSCORE', MEMBERS, me)
local quiet = tonumber(redis.call('HGET', TOTALS, 'quiet_until') or '0')
if not ends or tonumber(ends) <= now or quiet > now then
    settle_totals()
    return { 0 }
end

-- The first keys of a level, of both classes, ordered by the time they are due.
local function first_keys(level, number)
    local found = {}
    for _, class in ipairs({ 'r', 'p' }) do
        local from = class .. rank_bytes(level)
        local members = redis.call('ZRANGEBYLEX', IDLE, '[' .. from, '(' .. from .. due .. '\255', 'LIMIT', 0, number)
        for _, member in ipairs(members) do
            found[#found + 1] = member
        end
    end
    table.sort(found, function(one, other)
        return string.sub(one, 8, 15) < string.sub(other, 8, 15)
    end)
    return found
end

local keys, members = {}, {}
for arg = 4, #ARGV, 2 do
    local wanted = tonumber(ARGV[arg + 1])
    for rank, member in ipairs(first_keys(tonumber(ARGV[arg]), wanted)) do
        if rank > wanted then
            break
        end
        keys[#keys + 1] = string.sub(member, 16)
        members[#members + 1] = member
    end
end

local fence = redis.call('HINCRBY', TOTALS, 'fence', 1)
local leased, held, written = { fence }, {}, {}
local mine = token(string.format('%d', fence), me)
for number, value in ipairs(values(HOSTS, keys)) do
    local key, host = keys[number], opened(value)
    host.parked, host.blocked = 0, 0
    count('held_urls', host.queued)
    local record = closed(host)
    for _, list in ipairs({ leased, written }) do
        list[#list + 1] = key
        list[#list + 1] = record
    end
    held[#held + 1] = key
    held[#held + 1] = mine
end
call_in_parts('ZREM', IDLE, members)
call_in_parts('HSET', HELD, held)
call_in_parts('HSET', HOSTS, written)
settle_totals()
return leased
