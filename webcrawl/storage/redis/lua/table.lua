-- The common part of the operations on tables; see webcrawl/storage/tables.py for what they promise. All rows of a
-- partition are in one shard. The names of a table begin with {spider:n}:table:<table>, here T.
--
-- KEYS[1]  T              HASH  field -> value. The field is the length of the id (one byte), the id, the partition
-- KEYS[2]  T:headers      HASH  field -> value: the headers of partitions, whose ids are empty
-- only for a timed or an ordered table, whose calls are each for one partition:
-- KEYS[3]  T:due          ZSET  partition -> epoch seconds from which it is due
-- KEYS[4]  T:not_before   HASH  partition -> epoch seconds before which it is not due, if that was set
-- KEYS[5]  T:times:<partition>  ZSET  id -> the time of the row, inf for none; only for a timed table
-- KEYS[6]  T:ids:<partition>    ZSET  lexical, scores 0: id; only for an ordered table
-- ARGV[1]  letters: t for a timed table, o for an ordered one
-- ARGV[2]  the partition, '' for any
--
-- In a timed table each value begins with the time of its row: 8 bytes, little-endian; not a number for none.

local ROWS, HEADERS, DUE, NOT_BEFORE, TIMES, IDS = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local PARTITION = ARGV[2]
local TIMED, ORDERED = string.find(ARGV[1], 't', 1, true), string.find(ARGV[1], 'o', 1, true)
local byte, sub, call = string.byte, string.sub, redis.call

local function stored(field)
    local value = call('HGET', byte(field) == 0 and HEADERS or ROWS, field)
    if value and TIMED then
        return sub(value, 9)
    end
    return value
end

local function put(field, value)
    local length = byte(field)
    if length == 0 then
        call('HSET', HEADERS, field, value)
        return
    end
    call('HSET', ROWS, field, value)
    if TIMED then
        local at = struct.unpack('<d', value)
        call('ZADD', TIMES, at == at and at or 'inf', sub(field, 2, 1 + length))
    end
    if ORDERED then
        call('ZADD', IDS, 0, sub(field, 2, 1 + length))
    end
end

local function delete(field)
    local length = byte(field)
    if length == 0 then
        call('HDEL', HEADERS, field)
        return
    end
    call('HDEL', ROWS, field)
    if TIMED then
        call('ZREM', TIMES, sub(field, 2, 1 + length))
    end
    if ORDERED then
        call('ZREM', IDS, sub(field, 2, 1 + length))
    end
end

-- Update the time from which the partition of a timed table is due. not_before: if it was just set
local function store_due(not_before)
    local first = call('ZRANGE', TIMES, 0, 0, 'WITHSCORES')
    if first[1] and first[2] ~= 'inf' then
        not_before = not_before or call('HGET', NOT_BEFORE, PARTITION) or '0'
        call('ZADD', DUE, tonumber(not_before) > tonumber(first[2]) and not_before or first[2], PARTITION)
        return
    end
    call('ZREM', DUE, PARTITION)
    if not first[1] and call('HEXISTS', HEADERS, '\0' .. PARTITION) == 0 then
        call('HDEL', NOT_BEFORE, PARTITION)
    end
end
