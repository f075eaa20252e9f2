-- merge_counted: store what several processes have counted as that of one, unless another process has just done so
--
-- KEYS[1]  counted HASH  the start of a process and its name -> JSON of its numbers
-- ARGV[1]  the field of the sum
-- ARGV[2]  its value
-- ARGV[3..]  pairs of field and value that the sum is of
-- Returns  1: it is stored; 0: one of these has changed, and nothing was done

for arg = 3, #ARGV, 2 do
    if redis.call('HGET', KEYS[1], ARGV[arg]) ~= ARGV[arg + 1] then
        return 0
    end
end
for arg = 3, #ARGV, 2 do
    redis.call('HDEL', KEYS[1], ARGV[arg])
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return 1
