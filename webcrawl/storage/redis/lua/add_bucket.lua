-- add_bucket: add one more bucket for a dupefilter
-- uses: split_bucket
--
-- KEYS[1]  totals  HASH  `buckets`: their number; `seen`: how many requests are known
-- KEYS[2]  <n>     SET of integers, the bucket to split
-- KEYS[3]  <n>     SET of integers, the new one
-- ARGV[1]  number of buckets known to the caller; the new one has this number
-- ARGV[2]  how many buckets there will be when all of them are split: a power of two
-- Returns  number of buckets

local buckets = redis.call('HGET', KEYS[1], 'buckets') or '1'
if buckets ~= ARGV[1] then
    return tonumber(buckets)
end
local number = tonumber(ARGV[1])
split(KEYS[2], KEYS[3], number, tonumber(ARGV[2]))
redis.call('HSET', KEYS[1], 'buckets', number + 1)
return number + 1
