-- ready: return the idle keys that are due first
-- uses: shard
--
-- KEYS[1..10]  the shard's own, see shard.lua
-- ARGV[1]     epoch seconds, '' for the server's clock
-- Returns     {URLs queued on keys that are held, seconds until keys may be leased ('0' for now), the member of
--             `idle` that is due first, for each class and level, epoch}

-- The idle keys: for each level of a class the member that is due first.
local function tops(class)
    local found, from = {}, '[' .. class
    while true do
        local member = redis.call('ZRANGEBYLEX', IDLE, from, '(' .. class .. '\255', 'LIMIT', 0, 1)[1]
        if not member then
            return found
        end
        found[#found + 1] = member
        from = '(' .. string.sub(member, 1, 7) .. '\255'
    end
end

local found = tops('r')
for _, member in ipairs(tops('p')) do
    found[#found + 1] = member
end
local totals = redis.call('HMGET', TOTALS, 'held_urls', 'quiet_until', 'epoch')
local quiet = tonumber(totals[2] or '0')
local wait = quiet > 0 and math.max(0, quiet - clock(ARGV[1])) or 0
return { tonumber(totals[1] or '0'), string.format('%.6f', wait), found, tonumber(totals[3] or '0') }
