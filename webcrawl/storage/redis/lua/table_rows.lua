-- table_rows: read rows of a partition in the order of an index of it
--
-- KEYS[1]     the rows, see table.lua
-- KEYS[2]     the times or the ids of the partition
-- ARGV[1]     the partition
-- ARGV[2]     ZRANGEBYSCORE for the times, ZRANGEBYLEX for the ids
-- ARGV[3..4]  the first and the last in the index, as this command takes them
-- ARGV[5]     how many rows at most
-- Returns     id and value of each row, in turn

local found = {}
for _, id in ipairs(redis.call(ARGV[2], KEYS[2], ARGV[3], ARGV[4], 'LIMIT', 0, ARGV[5])) do
    found[#found + 1] = id
    found[#found + 1] = redis.call('HGET', KEYS[1], string.char(#id) .. id .. ARGV[1])
end
return found
