-- table_swap: store rows of a table that is neither timed nor ordered; each is a step of its own
--
-- KEYS[1]  the rows, or the headers; see table.lua
-- ARGV     field and value of each row
-- Returns  the value that was stored before, nothing if there was none, for each row

local before = {}
for at = 1, #ARGV, 2 do
    before[#before + 1] = redis.call('HGET', KEYS[1], ARGV[at])
    redis.call('HSET', KEYS[1], ARGV[at], ARGV[at + 1])
end
return before
