-- robots: store answers of robots.txt, and remove the oldest if there are too many
-- uses: shard
--
-- KEYS[1..10]  the shard's own, see shard.lua
-- KEYS[11]    robots      HASH  origin -> RobotsRecord as in packing.py
-- KEYS[12]    robots_ends ZSET  origin -> expires_at (epoch seconds)
-- ARGV[1]     how many may be kept; 0 for no more than there are
-- ARGV[2]     the caller's name as a member
-- ARGV[3..]   for each: origin, politeness key, expires_at, record
-- Returns     the number that is kept

local most, me = tonumber(ARGV[1]), ARGV[2]
-- A tenth more than necessary goes, so that not every answer has to remove one.
local spare = math.floor(most / 10)
if most == 0 then
    most = math.max(redis.call('ZCARD', KEYS[12]), 1)
end
for arg = 3, #ARGV, 4 do
    local origin, key = ARGV[arg], ARGV[arg + 1]
    redis.call('HSET', KEYS[11], origin, ARGV[arg + 3])
    redis.call('ZADD', KEYS[12], ARGV[arg + 2], origin)
    local held = redis.call('HGET', HELD, key)
    if held and string.sub(held, string.find(held, ' ', 1, true) + 1) ~= me then
        mark_changed({ key }, { FIRST_PLACE })
    end
end
local kept = redis.call('ZCARD', KEYS[12])
if kept > most then
    local gone = redis.call('ZRANGE', KEYS[12], 0, kept - most + spare - 1)
    for from = 1, #gone, 1000 do
        local to = math.min(from + 999, #gone)
        redis.call('ZREM', KEYS[12], unpack(gone, from, to))
        redis.call('HDEL', KEYS[11], unpack(gone, from, to))
    end
    kept = kept - #gone
end
return kept
