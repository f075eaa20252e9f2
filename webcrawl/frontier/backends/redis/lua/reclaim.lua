-- reclaim: put down what a member holds without knowing of it
-- uses: shard crew
--
-- KEYS[1..8]  the shard's own, see shard.lua
-- ARGV[1]     the caller's name as a member of the crew
-- ARGV[2..]   the keys it knows that it holds
-- Returns     how many others there were. Nobody has contacted them.

local known = {}
for arg = 2, #ARGV do
    known[ARGV[arg]] = true
end
local held, done = redis.call('HGETALL', HELD), 0
for at = 1, #held, 2 do
    if holder_of(held[at + 1]) == ARGV[1] and not known[held[at]] then
        put_down(held[at], read(held[at]))
        done = done + 1
    end
end
settle_totals()
return done
