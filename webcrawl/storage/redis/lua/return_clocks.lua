-- return_clocks: give back the clocks of a fetch that has ended
-- uses: shard clock_state
--
-- KEYS[1..10]  those of the shard in whose slot the clocks are, see shard.lua
-- KEYS[11..]   clocks STRING  see clock_state.lua
-- ARGV[1]     epoch seconds, '' for the server's clock
-- ARGV[2]     the caller's name as a member
-- ARGV[3]     its ticket
-- ARGV[4]     how many seconds ago the fetch ended; '' if nothing was sent
-- ARGV[5]     1: this is a repetition, and the server may have forgotten the first
-- ARGV[6..]   the pause in seconds that is owed on each clock
-- Returns     the number of clocks that were its own

local now, me, again = clock(ARGV[1]), ARGV[2] .. ' ' .. ARGV[3], ARGV[5] == '1'
local given = 0
for at = 11, #KEYS do
    local pause = tonumber(ARGV[at - 5])
    local free_at, holder = clock_state(KEYS[at], now, pause)
    local owed_at = ARGV[4] == '' and now or now - tonumber(ARGV[4]) + pause
    if holder == me then
        given = given + 1
        store(KEYS[at], now, owed_at, 0, '')
    elseif again and holder == '' and owed_at > free_at then
        store(KEYS[at], now, owed_at, 0, '')
    end
end
return given
