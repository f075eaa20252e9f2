-- leave: a member goes; what it still holds rests as if it had been contacted just now
-- uses: shard crew
--
-- KEYS[1..10]  the shard's own, see shard.lua
-- ARGV[1]     epoch seconds by the clock in which the hosts' times are kept
-- ARGV[2]     the caller's name as a member of the crew
-- Returns     1 when all is done, 0 when it must be called again

local done = take_over(ARGV[2], tonumber(ARGV[1]))
settle_totals()
return done and 1 or 0
