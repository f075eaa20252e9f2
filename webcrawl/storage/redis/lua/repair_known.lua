-- repair_known: repair the known URLs of a key: put each mark into its segment, with one state, and count them
-- uses: shard seen
--
-- The totals are not changed: they are counted anew when everything else is right.
--
-- KEYS[1..10]  the shard's own, see shard.lua
-- ARGV[1]      politeness key; it has a record
-- ARGV[2..]    corrections: '+', a mark and a state: set the state; '-' and a mark: remove it; '#' and a field of
--              `seen` that is no segment of the key: add its marks to the others
-- Returns      the number of known URLs

local key = ARGV[1]
local host = read(key)
local fields, states, marks = {}, {}, {}
for segment = 0, segment_count(host.known) - 1 do
    fields[#fields + 1] = seen_field(key, segment)
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
        -- A URL gets another state than queued when it is settled: that state stands.
        if not before or before % 4 == 0 or state % 4 > 0 and state % 4 < before % 4 then
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
        local segment = segment_number(mark, 1, segment_count(known))
        parts[segment] = parts[segment] or {}
        parts[segment][#parts[segment] + 1] = mark .. string.char(states[mark])
    end
end
call_in_parts('HDEL', SEEN, fields)
for segment, units in pairs(parts) do
    call('HSET', SEEN, seen_field(key, segment), table.concat(units))
end
host.known = known
write(key, host)
return known
