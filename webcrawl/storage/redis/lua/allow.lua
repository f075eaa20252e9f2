-- allow: hosts that the operator named to one process, for all of them
--
-- KEYS[1]  seeded ZSET  host -> its number, from 1 in the order in which they were named; none ever goes
-- ARGV     the hosts
-- Returns  how many there are

local number = redis.call('ZCARD', KEYS[1])
for _, host in ipairs(ARGV) do
    number = number + redis.call('ZADD', KEYS[1], 'NX', number + 1, host)
end
return number
