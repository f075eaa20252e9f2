-- release: release keys, with their final records
-- uses: shard leases
--
-- KEYS[1..10]  the shard's own, see shard.lua
-- ARGV[1]      the caller's name as a member
-- ARGV[2]      'release', or 'again': repeat a release, if the server has forgotten it and nothing newer is known
-- ARGV[3..]    for each key: key, fence ('0': not checked), its record as in leases.lua
-- Returns      the keys that were skipped, since the caller does not hold them

local me, again, lost = ARGV[1], ARGV[2] == 'again', {}

for arg = 3, #ARGV, 3 do
    local key = ARGV[arg]
    local held = redis.call('HGET', HELD, key)
    if may_write(held, ARGV[arg + 1], me) then
        local host = read(key) or new_record(0)
        if not held then
            displace(key, host)
        end
        if not again or host.next_at <= unpacked('<d', ARGV[arg + 2]) then
            take_record(host, ARGV[arg + 2])
        end
        if held then
            if redis.call('HDEL', CHANGED_QUEUES, key) == 1 then
                -- A change by others meanwhile may be the robots.txt that it waits for.
                host.blocked = 0
            end
            put_down(key, host)
        else
            place(key, host)
            write(key, host)
        end
    else
        lost[#lost + 1] = key
    end
end

settle_totals()
return lost
