-- begin_crawl: begin a crawl, unless it exists
--
-- KEYS[1]  meta HASH  name -> text: the settings the crawl was begun with, and `command` (run, pause or stop)
-- ARGV     pairs of name and value
-- Returns  all of it, as pairs

if redis.call('EXISTS', KEYS[1]) == 0 then
    for arg = 1, #ARGV, 2 do
        redis.call('HSET', KEYS[1], ARGV[arg], ARGV[arg + 1])
    end
end
return redis.call('HGETALL', KEYS[1])
