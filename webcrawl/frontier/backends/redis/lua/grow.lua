-- grow: one more bucket for the seen test, into which another is split (linear hashing)
-- uses: shard split
--
-- KEYS[1..8]  the shard's own, see shard.lua
-- KEYS[9]     seen:<n> SET of integers, the bucket to be split
-- KEYS[10]    seen:<n> SET of integers, the new one
-- ARGV[1]     number of buckets that the caller knows of; the new one has this number
-- ARGV[2]     how many buckets there will be when all of them are split: a power of two
-- Returns     number of buckets

local buckets = redis.call('HGET', TOTALS, 'buckets') or '1'
if buckets ~= ARGV[1] then
    return tonumber(buckets)
end
local number, size = tonumber(ARGV[1]), tonumber(ARGV[2])
split(KEYS[9], KEYS[10], number, size)
redis.call('HSET', TOTALS, 'buckets', number + 1)
return number + 1
