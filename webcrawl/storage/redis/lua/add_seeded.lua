-- add_seeded: add hosts that the operator named to one process, for all processes
--
-- KEYS[1]  seeded ZSET  host -> its number, from 1 in the order in which they were named; none is ever removed
-- ARGV     the hosts
-- Returns  the number of all hosts

local number = redis.call('ZCARD', KEYS[1])
for _, host in ipairs(ARGV) do
    number = number + redis.call('ZADD', KEYS[1], 'NX', number + 1, host)
end
return number
