-- restate: mend what is known of a key: its marks are put where they are looked for, each in one state, and counted
-- uses: shard seen
--
-- The totals are left alone: they are counted anew when everything else is right.
--
-- KEYS[1..10]  the shard's own, see shard.lua
-- ARGV[1]      politeness key; it has a record
-- ARGV[2..]    corrections: '+', a mark and a state: that is to be its state; '-' and a mark: it is to go; '#' and a field of
--              `seen` that nobody looks for: its marks belong to the rest
-- Returns      how many URLs are known

local key = ARGV[1]
local host = read(key)
local fields, states, marks = {}, {}, {}
for segment = 0, segments_of(host.known) - 1 do
    fields[#fields + 1] = field_of(key, segment)
end
for arg = 2, #ARGV do
    if byte(ARGV[arg]) == 35 then
        fields[#fields + 1] = sub(ARGV[arg], 2)
    end
end

local function set(mark, state)
    if not states[mark] then
        marks[#marks + 1] = mark
    end
    states[mark] = state
end

local segments = values(SEEN, fields)
for at = 1, #fields do
    local text = segments[at] or ''
    for begin = 1, #text - 8, 9 do
        local mark, state = sub(text, begin, begin + 7), byte(text, begin + 8)
        local before = states[mark]
        -- A URL gets another state than queued when it is over with it: that one stands.
        local sound = state < 4 or state % 4 > 1
        if sound and (not before or before == 0 or state > 0 and state % 4 < before % 4) then
            set(mark, state)
        end
    end
end
for arg = 2, #ARGV do
    local what, mark = byte(ARGV[arg]), sub(ARGV[arg], 2, 9)
    if what == 43 then
        set(mark, byte(ARGV[arg], 10))
    elseif what == 45 then
        states[mark] = false
    end
end

local known, parts = 0, {}
for _, mark in ipairs(marks) do
    known = known + (states[mark] and 1 or 0)
end
for _, mark in ipairs(marks) do
    if states[mark] then
        local segment = segment_of(mark, 1, segments_of(known))
        parts[segment] = parts[segment] or {}
        parts[segment][#parts[segment] + 1] = mark .. string.char(states[mark])
    end
end
carry_out_on('HDEL', SEEN, fields)
for segment, units in pairs(parts) do
    call('HSET', SEEN, field_of(key, segment), table.concat(units))
end
host.known = known
write(key, host)
return known
