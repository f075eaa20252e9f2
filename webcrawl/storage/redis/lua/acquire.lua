-- acquire: make one key active, whether or not it has URLs and its time has come
-- uses: shard leases
--
-- KEYS[1..10]  the shard's own, see shard.lua
-- ARGV[1]     epoch seconds, '' for the server's clock: decides when leases end
-- ARGV[2]     the same moment by the clock in which the hosts' times are kept
-- ARGV[3]     the caller's name as a member
-- ARGV[4]     the key
-- ARGV[5]     delay_seconds of a new key
-- ARGV[6]     '1' for a key that may be given up
-- Returns     {fence, its value in `hosts`}; {0} if the caller's own lease has ended or keys may not be leased yet
--             (see recover.lua); {-1} if a member holds it, whose next heartbeat says that it is requested; {-2} if it
--             is given up

local now, me, key = clock(ARGV[1]), ARGV[3], ARGV[4]
take_over_expired(now, tonumber(ARGV[2]))
local ends = redis.call('ZSCORE', MEMBERS, me)
local quiet = tonumber(redis.call('HGET', TOTALS, 'quiet_until') or '0')
if not ends or tonumber(ends) <= now or quiet > now then
    settle_totals()
    return { 0 }
end
local held = redis.call('HGET', HELD, key)
if held then
    if lease_holder(held) ~= me and redis.call('HEXISTS', CHANGED_QUEUES, key) == 0 then
        mark_changed({ key }, { string.rep('\255', 14) })
    end
    settle_totals()
    return { -1 }
end
local host = read(key)
if not host then
    host = new_record(tonumber(ARGV[5]))
elseif host.given_up == 1 and ARGV[6] ~= '1' then
    settle_totals()
    return { -2 }
else
    displace(key, host)
end
local fence = redis.call('HINCRBY', TOTALS, 'fence', 1)
host.parked, host.blocked, host.given_up = 0, 0, 0
count('held_urls', host.queued)
redis.call('HSET', HELD, key, token(string.format('%d', fence), me))
write(key, host)
settle_totals()
return { fence, closed(host) }
