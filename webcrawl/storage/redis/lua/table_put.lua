-- table_put: store rows of one partition of a timed or an ordered table; each is a step of its own
-- uses: table
--
-- KEYS, ARGV[1..2]  see table.lua
-- ARGV[3]   add: only rows that are not stored; swap: all rows
-- ARGV[4..] field and value of each row
-- Returns   the value that was stored before, nothing if there was none, for each row

local before = {}
for at = 4, #ARGV, 2 do
    local value = stored(ARGV[at])
    if not value or ARGV[3] == 'swap' then
        put(ARGV[at], ARGV[at + 1])
    end
    before[#before + 1] = value
end
if TIMED then
    store_due()
end
return before
