-- grow: one more bucket for the seen test, into which another is split (linear hashing)
-- uses: shard
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
local stay, go = {}, {}
for _, member in ipairs(redis.call('SMEMBERS', KEYS[9])) do
    -- The last nine digits before the state, as in packing.py.
    local digits = string.sub(string.gsub(member, '^-', ''), -10, -2)
    local side = tonumber(digits) % size == number and go or stay
    side[#side + 1] = member
end
redis.call('DEL', KEYS[9])
for side, key in pairs({ [stay] = KEYS[9], [go] = KEYS[10] }) do
    for from = 1, #side, 1000 do
        redis.call('SADD', key, unpack(side, from, math.min(from + 999, #side)))
    end
end
redis.call('HSET', TOTALS, 'buckets', number + 1)
return number + 1
