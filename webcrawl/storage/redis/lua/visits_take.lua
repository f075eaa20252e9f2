-- visits_take: give the due pages of one politeness key to one worker, which adds them to their queue
-- uses: visits
--
-- KEYS, ARGV[1]  see visits.lua
-- ARGV[2]  epoch seconds: now
-- ARGV[3]  after how many seconds they are due again; doubled for each time that no result was stored
-- ARGV[4]  how often that doubles at most
-- ARGV[5]  how many pages of the key may be out
-- Returns  fingerprint and row of each, in turn; those that have been due longest come first

redis.call('ZREMRANGEBYSCORE', OUT, '-inf', ARGV[2])
local room = math.max(tonumber(ARGV[5]) - redis.call('ZCARD', OUT), 0)
local marks, taken = {}, {}
if room > 0 then
    marks = redis.call('ZRANGEBYSCORE', OF, '-inf', ARGV[2], 'LIMIT', 0, room)
end
if #marks > 0 then
    local untold = tonumber(redis.call('HGET', UNTOLD, KEY) or '0')
    local wait = tonumber(ARGV[3]) * 2 ^ math.min(untold, tonumber(ARGV[4]))
    local again_at = string.format('%.17g', tonumber(ARGV[2]) + wait)
    for _, mark in ipairs(marks) do
        taken[#taken + 1] = mark
        taken[#taken + 1] = redis.call('HGET', ROWS, mark .. KEY)
        redis.call('ZADD', OF, again_at, mark)
        redis.call('ZADD', OUT, again_at, mark)
    end
    redis.call('HINCRBY', UNTOLD, KEY, 1)
end
reckon()
if #marks == room then
    redis.call('SADD', FULL, KEY)
    redis.call('ZADD', DUE, redis.call('ZRANGE', OUT, 0, 0, 'WITHSCORES')[2], KEY)
end
return taken
