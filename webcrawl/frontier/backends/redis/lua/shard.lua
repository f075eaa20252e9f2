-- What the operations have in common: a shard's own keys, the records of its hosts, who is idle and who is held.
-- Put before each operation that says so; every operation gets these keys first.
--
-- KEYS[1] hosts    HASH  politeness key -> header (see HEADER) and the rest of its record, opaque here
-- KEYS[2] idle     ZSET  lexical, scores 0: class ('r' rests, 'p' parked), rank (6 bytes), due (8 bytes, microseconds), key
-- KEYS[3] held     HASH  active key -> fence and member, as "57 host-123-ab"
-- KEYS[4] stirred  HASH  active key -> first place where another member queued something, and the number of this news
--                        (6 bytes, big-endian)
-- KEYS[5] queues   HASH  politeness key -> last place (14 bytes) and its entries while they are few; see queue.lua
-- KEYS[6] totals   HASH  name -> integer; see TOTALS in packing.py
-- KEYS[7] given_up SET   keys that are given up
-- KEYS[8] members  ZSET  member of the crew -> when its leases in this shard end (epoch seconds)
--
-- rank: 2^47 less the level, big-endian. place: rank and position (8 bytes, big-endian, 2^63 more than it is).

local HOSTS, IDLE, HELD, STIRRED = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local QUEUES, TOTALS, GIVEN_UP, MEMBERS = KEYS[5], KEYS[6], KEYS[7], KEYS[8]

-- queued URLs, level it is idle at, next_fetch_at, blocked_until, delay_seconds, parked, given up
local HEADER = '<dddddBB'
local NONE = struct.pack(HEADER, 0, 0, 0, 0, 0, 0, 0)
local LEVELS = 140737488355328
local FIRST_PLACE = string.rep('\0', 14)
local UNPACKED = 4000

local gains = {}

local function count(name, by)
    gains[name] = (gains[name] or 0) + by
end

-- Write the totals that changed.
local function settle_totals()
    for name, by in pairs(gains) do
        if by ~= 0 then
            redis.call('HINCRBY', TOTALS, name, string.format('%d', by))
        end
    end
end

-- Epoch seconds by the server's clock, or the time that a test gives.
local function clock(given)
    if given ~= '' then
        return tonumber(given)
    end
    local time = redis.call('TIME')
    return tonumber(time[1]) + tonumber(time[2]) / 1000000
end

local function opened(value)
    local host, after = {}, nil
    host.queued, host.level, host.next_at, host.blocked, host.delay, host.parked, host.given_up, after =
        struct.unpack(HEADER, value)
    host.rest = string.sub(value, after)
    return host
end

local function read(key)
    local value = redis.call('HGET', HOSTS, key)
    return value and opened(value)
end

local function closed(host)
    return struct.pack(
        HEADER, host.queued, host.level, host.next_at, host.blocked, host.delay, host.parked, host.given_up
    ) .. host.rest
end

local function write(key, host)
    redis.call('HSET', HOSTS, key, closed(host))
end

-- The record of a key that is met for the first time.
local function first_met(delay)
    count('hosts', 1)
    local host = opened(NONE)
    host.delay = delay
    return host
end

-- Tell the holder of a key that others changed its queue, at `place` or behind it. It is said until it is known to have
-- been heard; the number tells what was said from what has come since.
local function stir(key, place)
    local known = redis.call('HGET', STIRRED, key)
    if known and known < place then
        place = string.sub(known, 1, 14)
    end
    redis.call('HSET', STIRRED, key, place .. struct.pack('>I6', redis.call('HINCRBY', TOTALS, 'stirs', 1)))
end

local function is_idle(host, held)
    return host.queued > 0 and host.given_up == 0 and not held
end

local function due_bytes(at)
    return struct.pack('>I8', math.max(0, math.ceil(at * 1000000)))
end

local function rank_bytes(level)
    return struct.pack('>I6', LEVELS - level)
end

local function level_at(place)
    return LEVELS - struct.unpack('>I6', place)
end

local function idle_member(key, host)
    return (host.parked == 1 and 'p' or 'r') .. rank_bytes(host.level)
        .. due_bytes(math.max(host.next_at, host.blocked)) .. key
end

local function index(key, host)
    redis.call('ZADD', IDLE, 0, idle_member(key, host))
end

local function unindex(key, host)
    redis.call('ZREM', IDLE, idle_member(key, host))
end

-- What idle keys there are: for each class and level the member that is due first.
local function tops(class)
    local found, from = {}, '[' .. class
    while true do
        local member = redis.call('ZRANGEBYLEX', IDLE, from, '(' .. class .. '\255', 'LIMIT', 0, 1)[1]
        if not member then
            return found
        end
        found[#found + 1] = member
        from = '(' .. string.sub(member, 1, 7) .. '\255'
    end
end
