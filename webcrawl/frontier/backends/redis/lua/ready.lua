-- ready: what idle keys there are
-- uses: shard
--
-- KEYS[1..8]  the shard's own, see shard.lua
-- ARGV[1]     epoch seconds, '' for the server's clock
-- Returns     {URLs queued on keys that are held, seconds until keys may be leased ('0' for now), the member of `idle`
--             that is due first, for each class and level, epoch}

local found = tops('r')
for _, member in ipairs(tops('p')) do
    found[#found + 1] = member
end
local totals = redis.call('HMGET', TOTALS, 'held_urls', 'quiet_until', 'epoch')
local quiet = tonumber(totals[2] or '0')
local wait = quiet > 0 and math.max(0, quiet - clock(ARGV[1])) or 0
return { tonumber(totals[1] or '0'), string.format('%.6f', wait), found, tonumber(totals[3] or '0') }
