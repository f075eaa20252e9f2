-- add_request: add a request, and return if it was new. For a dupefilter, which has a seen test of its own
--
-- KEYS[1]  totals  HASH  `buckets`: their number; `seen`: how many requests are known
-- KEYS[2]  <n>     SET of integers, the bucket of the request
-- ARGV[1]  number of buckets known to the caller
-- ARGV[2]  digits of the fingerprint with a 0 appended, as in marks.py
-- Returns  {buckets, seen, 1 if it was new}; {-1, buckets} if the number of buckets is wrong and nothing was done

local buckets = redis.call('HGET', KEYS[1], 'buckets') or '1'
if buckets ~= ARGV[1] then
    return { -1, tonumber(buckets) }
end
local new = redis.call('SADD', KEYS[2], ARGV[2])
return { tonumber(buckets), redis.call('HINCRBY', KEYS[1], 'seen', new), new }
