-- table_update: change rows of one partition if others are as expected
-- uses: table
--
-- KEYS, ARGV[1..2]  see table.lua
-- ARGV[3]   epoch seconds before which the partition is not due; 0: no such time, '': as it was
-- ARGV[4]   how many rows must not be stored
-- ARGV[5]   how many rows must have a given value
-- ARGV[6]   how many rows are deleted
-- ARGV[7..] fields of the first, fields and values of the second, fields of those to delete; fields and values to store
-- Returns   1 if that was done, 0 if a row is not as expected

local at = 7
for _ = 1, tonumber(ARGV[4]) do
    if stored(ARGV[at]) then
        return 0
    end
    at = at + 1
end
for _ = 1, tonumber(ARGV[5]) do
    if stored(ARGV[at]) ~= ARGV[at + 1] then
        return 0
    end
    at = at + 2
end
for _ = 1, tonumber(ARGV[6]) do
    delete(ARGV[at])
    at = at + 1
end
for field = at, #ARGV, 2 do
    put(ARGV[field], ARGV[field + 1])
end
if TIMED then
    if ARGV[3] == '0' then
        call('HDEL', NOT_BEFORE, PARTITION)
    elseif ARGV[3] ~= '' then
        call('HSET', NOT_BEFORE, PARTITION, ARGV[3])
    end
    store_due(ARGV[3] ~= '' and ARGV[3])
end
return 1
