-- join: become or stay a member, and say which keys are held
-- uses: shard crew
--
-- KEYS[1..8]  the shard's own, see shard.lua
-- ARGV[1]     epoch seconds, '' for the server's clock
-- ARGV[2]     the same moment by the clock in which the hosts' times are kept
-- ARGV[3]     the caller's name as a member of the crew
-- ARGV[4]     how many seconds its leases last from now on
-- ARGV[5..]   pairs of key and fence: what it holds, as far as it knows. Keys that nobody holds are its own again: the
--             server may have forgotten its last second.
-- Returns     {epoch, keys that are held by others}

local now, me = clock(ARGV[1]), ARGV[3]
bury(now, tonumber(ARGV[2]))
redis.call('ZADD', MEMBERS, now + tonumber(ARGV[4]), me)
local lost = {}
for arg = 5, #ARGV, 2 do
    local key, mine = ARGV[arg], token(ARGV[arg + 1], me)
    local held = redis.call('HGET', HELD, key)
    local host = read(key) or first_met(0)
    if not held then
        displace(key, host)
        host.given_up = 0
        redis.call('HSET', HELD, key, mine)
        count('held_urls', host.queued)
        write(key, host)
    elseif held ~= mine then
        lost[#lost + 1] = key
    end
end
settle_totals()
return { tonumber(redis.call('HGET', TOTALS, 'epoch') or '0'), lost }
