-- lock: take a lock that is free, or renew one's own
--
-- KEYS[1]  lock  STRING  its holder; expires
-- ARGV     the holder, for how many milliseconds
-- Returns  1 if it has the lock, 0 if another has it

local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then
    return 0
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
