-- change: replace one state of a subscription by another, if it is still as it was
--
-- KEYS[1]  subscriptions HASH  token -> JSON
-- KEYS[2]  due ZSET            token by the time of its next action, epoch seconds
-- KEYS[3]  topic SET           tokens of one topic
-- KEYS[4]  counts HASH          politeness key -> how many subscriptions
-- ARGV     token, JSON as it was ('' for none), JSON as it is to be ('' for none), the time as text, politeness key
-- Returns  1 if that was done, 0 if it was another

local token, before, after = ARGV[1], ARGV[2], ARGV[3]
if (redis.call('HGET', KEYS[1], token) or '') ~= before then
    return 0
end
if after == '' then
    redis.call('HDEL', KEYS[1], token)
    redis.call('ZREM', KEYS[2], token)
    redis.call('SREM', KEYS[3], token)
    if redis.call('HINCRBY', KEYS[4], ARGV[5], -1) <= 0 then
        redis.call('HDEL', KEYS[4], ARGV[5])
    end
else
    redis.call('HSET', KEYS[1], token, after)
    redis.call('ZADD', KEYS[2], ARGV[4], token)
    redis.call('SADD', KEYS[3], token)
    if before == '' then
        redis.call('HINCRBY', KEYS[4], ARGV[5], 1)
    end
end
return 1
