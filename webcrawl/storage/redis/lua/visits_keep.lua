-- visits_keep: store pages of one politeness key as they are now, and remove some
-- uses: visits
--
-- KEYS, ARGV[1]  see visits.lua
-- ARGV[2]   how many pages are kept
-- ARGV[3..] of each kept page: fingerprint, when it is due, row; then the fingerprints of those to remove
-- Returns   the number of arguments after ARGV[2]

local dropped = 3 + 3 * tonumber(ARGV[2])
local out = 0
for at = 3, dropped - 1, 3 do
    local mark = ARGV[at]
    redis.call('HSET', ROWS, mark .. KEY, ARGV[at + 2])
    redis.call('ZADD', OF, ARGV[at + 1], mark)
    out = out + redis.call('ZREM', OUT, mark)
end
for at = dropped, #ARGV do
    redis.call('HDEL', ROWS, ARGV[at] .. KEY)
    redis.call('ZREM', OF, ARGV[at])
    out = out + redis.call('ZREM', OUT, ARGV[at])
end
if out > 0 then
    redis.call('HDEL', UNTOLD, KEY)
end
reckon()
return #ARGV - 2
