-- leave: end a membership; keys that the member still holds rest as if they had been contacted just now
-- uses: shard leases
--
-- KEYS[1..10]  the shard's own, see shard.lua
-- ARGV[1]     epoch seconds by the clock in which the hosts' times are kept
-- ARGV[2]     the caller's name as a member
-- Returns     1 if all is done, 0 if it must be called again

local done = take_over(ARGV[2], tonumber(ARGV[1]))
settle_totals()
return done and 1 or 0
