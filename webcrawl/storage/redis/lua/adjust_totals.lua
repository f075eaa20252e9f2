-- adjust_totals: correct the running totals of a shard by differences, so that changes made meanwhile are not lost
--
-- KEYS[1]  totals HASH  name -> integer
-- ARGV     pairs: name, by how much it is to grow
-- Returns  the number of pairs

for arg = 1, #ARGV, 2 do
    if not tonumber(redis.call('HGET', KEYS[1], ARGV[arg]) or '0') then
        redis.call('HDEL', KEYS[1], ARGV[arg])
    end
    redis.call('HINCRBY', KEYS[1], ARGV[arg], ARGV[arg + 1])
end
return #ARGV / 2
