-- heartbeat: renew the leases of a member, and return what changed (the heartbeat)
-- uses: shard leases
--
-- KEYS[1..10]  the shard's own, see shard.lua
-- ARGV[1]     epoch seconds, '' for the server's clock
-- ARGV[2]     the same moment by the clock in which the hosts' times are kept
-- ARGV[3]     the caller's name as a member
-- ARGV[4]     how many seconds its leases last from now on
-- ARGV[5..]   pairs of key and mark: those that it got the last time
-- Returns     {epoch, number of idle keys, key, mark, ...}: keys it holds for which others queued URLs, with the mark
--             in `changed_queues`, which begins with the place; {epoch, -1} if its leases have ended

local now, me = clock(ARGV[1]), ARGV[3]
local epoch = tonumber(redis.call('HGET', TOTALS, 'epoch') or '0')
take_over_expired(now, tonumber(ARGV[2]))
if not redis.call('ZSCORE', MEMBERS, me) then
    settle_totals()
    return { epoch, -1 }
end
redis.call('ZADD', MEMBERS, now + tonumber(ARGV[4]), me)
for arg = 5, #ARGV, 2 do
    if redis.call('HGET', CHANGED_QUEUES, ARGV[arg]) == ARGV[arg + 1] then
        redis.call('HDEL', CHANGED_QUEUES, ARGV[arg])
    end
end
local answer = { epoch, redis.call('ZCARD', IDLE) }
local changed_queues = redis.call('HGETALL', CHANGED_QUEUES)
for at = 1, #changed_queues, 2 do
    local key = changed_queues[at]
    local held = redis.call('HGET', HELD, key)
    if held and lease_holder(held) == me then
        answer[#answer + 1] = key
        answer[#answer + 1] = changed_queues[at + 1]
    elseif not held then
        redis.call('HDEL', CHANGED_QUEUES, key)
    end
end
settle_totals()
return answer
