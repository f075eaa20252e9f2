-- The common part of the operations: a shard's own keys, the records of its hosts, the idle and the held keys.
-- Included in the operations that use it; every operation gets these keys first.
--
-- KEYS[1]  hosts    HASH  politeness key -> header (see HEADER) and the rest of its record, opaque here
-- KEYS[2]  idle     ZSET  lexical, scores 0: class ('r' rests, 'p' parked), rank (6 bytes), due (8 bytes, microseconds), key
-- KEYS[3]  held     HASH  active key -> fence and member, see leases.lua
-- KEYS[4]  changed_queues HASH  active key -> first place where another member queued an entry, and the number of
--          this change
-- KEYS[5]  queues   HASH  politeness key -> the end of its queue; see queue.lua
-- KEYS[6]  totals   HASH  name -> integer; see TOTALS in packing.py
-- KEYS[7]  given_up SET   keys that are given up
-- KEYS[8]  members  ZSET  member -> when its leases in this shard end (epoch seconds)
-- KEYS[9]  seen     HASH  politeness key and number -> marks of known URLs, with the state of each; see seen.lua
-- KEYS[10] chunks   ZSET  lexical, scores 0: politeness key and entries of its queue; see queue.lua
--
-- rank: 2^47 less the level, big-endian. place: rank and position (8 bytes, big-endian, 2^63 more than it is).
--
-- Steps that are done for every page matter here. Any step costs as much as about ten of compiled code, a call of a
-- function about a hundred, making a string as many as it has bytes, a call of the server a thousand. So values
-- are read together where possible, and long strings are not taken apart without need.

local HOSTS, IDLE, HELD, CHANGED_QUEUES = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local QUEUES, TOTALS, GIVEN_UP, MEMBERS = KEYS[5], KEYS[6], KEYS[7], KEYS[8]
local SEEN, CHUNKS = KEYS[9], KEYS[10]
local byte, sub, find, call = string.byte, string.sub, string.find, redis.call
local pack, unpacked = struct.pack, struct.unpack

-- Queued URLs, known URLs; chunks of its queue, the highest place it ever had, rank of the first; then of its record
-- next_fetch_at, blocked_until, delay_seconds, parked, given_up.
local HEADER = '<I4I4I4c14c6dddBB'
local COUNTS, RECORD_AT, GIVEN_UP_AT = '<I4I4I4c14c6', 33, 58
local LEVELS = 140737488355328
local FIRST_PLACE, NO_RANK = string.rep('\0', 14), pack('>I6', LEVELS)
local UNPACKED = 4000
-- Redis keeps up to 512 short values in a list that it searches from the beginning. One value this wide makes it a
-- table.
local WIDE = 65

local gains = {}

local function count(name, by)
    gains[name] = (gains[name] or 0) + by
end

-- Write the totals that changed.
local function settle_totals()
    for name, by in pairs(gains) do
        if by ~= 0 then
            call('HINCRBY', TOTALS, name, string.format('%d', by))
        end
    end
end

-- Epoch seconds by the server's clock, or the time that a test sets.
local function clock(given)
    if given ~= '' then
        return tonumber(given)
    end
    local time = call('TIME')
    return tonumber(time[1]) + tonumber(time[2]) / 1000000
end

-- Return the values of fields, in their order; false for a missing one.
local function values(hash, fields)
    if #fields <= UNPACKED then
        return #fields > 0 and call('HMGET', hash, unpack(fields)) or {}
    end
    local found = {}
    for from = 1, #fields, UNPACKED do
        local some = call('HMGET', hash, unpack(fields, from, math.min(from + UNPACKED - 1, #fields)))
        for at = 1, #some do
            found[from + at - 1] = some[at]
        end
    end
    return found
end

-- Carry out a command with any number of arguments after its key: fields and values, scores and members.
local function call_in_parts(command, key, args)
    for from = 1, #args, UNPACKED do
        call(command, key, unpack(args, from, math.min(from + UNPACKED - 1, #args)))
    end
end

-- The value of a new key in `hosts`.
local function fresh(delay)
    return pack(HEADER, 0, 0, 0, FIRST_PLACE, NO_RANK, 0, 0, delay, 0, 0)
end

local function opened(value)
    local queued, known, chunks, last, rank, next_at, blocked, delay, parked, given_up, after = unpacked(HEADER, value)
    return {
        queued = queued, known = known, chunks = chunks, last = last, rank = rank, next_at = next_at, blocked = blocked,
        delay = delay, parked = parked, given_up = given_up, rest = sub(value, after),
    }
end

local function read(key)
    local value = call('HGET', HOSTS, key)
    return value and opened(value)
end

local function closed(host)
    return pack(
        HEADER, host.queued, host.known, host.chunks, host.last, host.rank, host.next_at, host.blocked, host.delay,
        host.parked, host.given_up
    ) .. host.rest
end

local function write(key, host)
    call('HSET', HOSTS, key, closed(host))
end

-- The record of a new key.
local function new_record(delay)
    count('hosts', 1)
    return opened(fresh(delay))
end

-- Mark keys as changed for their holders, each at its place or after it. The mark stays until its holder has
-- confirmed it; the number distinguishes it from later changes.
local function mark_changed(keys, places)
    if #keys == 0 then
        return
    end
    local number, args = string.format('%0' .. WIDE - 14 .. 'd', call('HINCRBY', TOTALS, 'queue_changes', 1)), {}
    local before = values(CHANGED_QUEUES, keys)
    for at = 1, #keys do
        local place = places[at]
        if before[at] and before[at] < place then
            place = sub(before[at], 1, 14)
        end
        args[#args + 1], args[#args + 2] = keys[at], place .. number
    end
    call_in_parts('HSET', CHANGED_QUEUES, args)
end

local function due_bytes(at)
    return pack('>I8', math.max(0, math.ceil(at * 1000000)))
end

local function rank_bytes(level)
    return pack('>I6', LEVELS - level)
end

local function idle_member(key, host)
    return (host.parked == 1 and 'p' or 'r') .. host.rank .. due_bytes(math.max(host.next_at, host.blocked)) .. key
end

local function index(key, host)
    call('ZADD', IDLE, 0, idle_member(key, host))
end

local function unindex(key, host)
    call('ZREM', IDLE, idle_member(key, host))
end
