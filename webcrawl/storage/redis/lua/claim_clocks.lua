-- claim_clocks: take all clocks of a fetch that it shares with others, or none
-- uses: shard clock_state
--
-- KEYS[1..10]  those of the shard in whose slot the clocks are, see shard.lua
-- KEYS[11..]   clocks STRING  while a clock is claimed or owes a pause: see clock_state.lua
-- ARGV[1]     epoch seconds, '' for the server's clock
-- ARGV[2]     the caller's name as a member
-- ARGV[3]     its ticket: clocks that are claimed under it are its own already
-- ARGV[4]     for how many seconds it may keep them
-- ARGV[5]     1: it has them, and the server may have forgotten it
-- ARGV[6..]   the pause in seconds that is owed on each clock
-- Returns     {0} if they are its own; {number of the clock that is not free, seconds until it may be, as text}; {-1}
--             if its leases in the shard have ended

local now, me, again = clock(ARGV[1]), ARGV[2] .. ' ' .. ARGV[3], ARGV[5] == '1'
local ends = call('ZSCORE', MEMBERS, ARGV[2])
if not ends or tonumber(ends) <= now then
    return { -1 }
end
-- Claims of the last second before the server started may be forgotten: by `quiet_until` all of them have ended.
local quiet = tonumber(call('HGET', TOTALS, 'quiet_until') or '0')

for at = 11, #KEYS do
    local pause = tonumber(ARGV[at - 5])
    local free_at, holder = clock_state(KEYS[at], now, pause)
    if holder ~= me and not (again and holder == '') then
        if quiet > 0 then
            free_at = math.max(free_at, quiet + pause)
        end
        if free_at > now then
            return { at - 10, string.format('%.6f', free_at - now) }
        end
    end
end
for at = 11, #KEYS do
    claim(KEYS[at], now, now + tonumber(ARGV[4]), tonumber(ARGV[at - 5]), me)
end
return { 0 }
