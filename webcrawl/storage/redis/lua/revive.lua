-- revive: give given-up keys another chance, at most 1000 at once
-- uses: shard leases
--
-- KEYS[1..10]  the shard's own, see shard.lua
-- Returns     the number of keys

local keys = redis.call('SRANDMEMBER', GIVEN_UP, 1000)
for _, key in ipairs(keys) do
    local host = read(key)
    displace(key, host)
    host.given_up = 0
    place(key, host)
    write(key, host)
end
settle_totals()
return #keys
