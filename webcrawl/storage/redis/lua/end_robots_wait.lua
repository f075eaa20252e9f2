-- end_robots_wait: end the wait of keys for a robots.txt
-- uses: shard leases
--
-- KEYS[1..10]  the shard's own, see shard.lua
-- ARGV        the keys; none for all that are idle and wait for one

local keys = ARGV
if #keys == 0 then
    keys = {}
    for _, member in ipairs(redis.call('ZRANGEBYLEX', IDLE, '[p', '(p\255')) do
        keys[#keys + 1] = string.sub(member, 16)
    end
end
for _, key in ipairs(keys) do
    local host = read(key)
    if host and redis.call('HEXISTS', HELD, key) == 1 then
        -- Its holder may be about to release it, for the same reason that is gone now.
        mark_changed({ key }, { FIRST_PLACE })
    elseif host and host.blocked > 0 then
        displace(key, host)
        host.blocked = 0
        place(key, host)
        write(key, host)
    end
end
settle_totals()
return #keys
