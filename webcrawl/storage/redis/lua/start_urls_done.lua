-- start_urls_done: remove tickets whose entries are in the crawl, or set aside
--
-- KEYS[1]  taken    HASH  ticket -> entry
-- KEYS[2]  tickets  ZSET  ticket -> when its entry is given out again (epoch seconds)
-- ARGV     tickets
-- Returns  the number of tickets that existed

local there = 0
for _, ticket in ipairs(ARGV) do
    there = there + redis.call('HDEL', KEYS[1], ticket)
    redis.call('ZREM', KEYS[2], ticket)
end
return there
