-- join: become or stay a member, and agree on the keys that are held
-- uses: shard leases
--
-- KEYS[1..10]  the shard's own, see shard.lua
-- ARGV[1]     epoch seconds, '' for the server's clock
-- ARGV[2]     the same moment by the clock in which the hosts' times are kept
-- ARGV[3]     the caller's name as a member
-- ARGV[4]     how many seconds its leases last from now on
-- ARGV[5]     the epoch that it knows
-- ARGV[6]     how many of the following keys it holds, as far as it knows. It released the others a moment ago: they
--             count only in a new epoch, in which it has to repeat their final records.
-- ARGV[7..]   pairs of key and fence. Keys without a holder become its own again, and so do keys that are held under
--             a lower number: the server may have forgotten its last second. Other keys that it holds are unknown to
--             it, since an answer was lost.
-- Returns     {epoch, keys that are held by others, 1 if more keys unknown to it are left}

local now, me = clock(ARGV[1]), ARGV[3]
take_over_expired(now, tonumber(ARGV[2]))
redis.call('ZADD', MEMBERS, now + tonumber(ARGV[4]), me)

local epoch = redis.call('HGET', TOTALS, 'epoch') or '0'
local last = epoch == ARGV[5] and 6 + 2 * tonumber(ARGV[6]) or #ARGV
local lost, known = {}, {}
for arg = 7, last, 2 do
    local key, mine = ARGV[arg], token(ARGV[arg + 1], me)
    local held = redis.call('HGET', HELD, key)
    known[key] = not held or lease_fence(held) <= tonumber(ARGV[arg + 1])
    if not held then
        local host = read(key) or new_record(0)
        displace(key, host)
        host.given_up = 0
        redis.call('HSET', HELD, key, mine)
        count('held_urls', host.queued)
        write(key, host)
    elseif known[key] then
        redis.call('HSET', HELD, key, mine)
    else
        lost[#lost + 1] = key
    end
end

-- Keys unknown to it rest as if they had been contacted just now.
local more = put_down_all(me, tonumber(ARGV[2]), known)
settle_totals()
return { tonumber(epoch), lost, more and 1 or 0 }
