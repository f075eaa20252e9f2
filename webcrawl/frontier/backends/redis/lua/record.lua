-- record: store the records of keys that changed, and let go of keys
-- uses: shard crew
--
-- KEYS[1..8]  the shard's own, see shard.lua
-- ARGV[1]     the caller's name as a member of the crew
-- ARGV[2]     'keep', 'release' or 'again': release as was done before, if the server has forgotten it and nothing
--             newer is known
-- ARGV[3..]   for each key: key, fence ('0': not checked), next_fetch_at, blocked_until, delay_seconds, parked, given up
--             (0 or 1), the rest of its record
-- Returns     the keys for which nothing was done, since the caller does not hold them

local me, again = ARGV[1], ARGV[2] == 'again'
local release = again or ARGV[2] == 'release'
local lost = {}

for arg = 3, #ARGV, 8 do
    local key = ARGV[arg]
    local held = redis.call('HGET', HELD, key)
    if may_write(held, ARGV[arg + 1], me) then
        local host = read(key) or first_met(0)
        if not held then
            displace(key, host)
        end
        if not again or host.next_at <= tonumber(ARGV[arg + 2]) then
            host.next_at, host.blocked = tonumber(ARGV[arg + 2]), tonumber(ARGV[arg + 3])
            host.delay, host.parked = tonumber(ARGV[arg + 4]), tonumber(ARGV[arg + 5])
            host.given_up, host.rest = tonumber(ARGV[arg + 6]), ARGV[arg + 7]
        end
        if held and release then
            if redis.call('HDEL', STIRRED, key) == 1 then
                -- What came from others meanwhile may be the robots.txt it waits for.
                host.blocked = 0
            end
            put_down(key, host)
        else
            if not held then
                place(key, host)
            end
            write(key, host)
        end
    else
        lost[#lost + 1] = key
    end
end

settle_totals()
return lost
