-- queue_excess: return the last entries of a queue that are over its limit
-- uses: shard queue
--
-- KEYS[1..10]  the shard's own, see shard.lua
-- ARGV         key, how many URLs may stay
-- Returns      the entries that are over it, as in queue.lua, at most the last 2000

-- Chunks read at a time.
local STEP = 8

local host = read(ARGV[1])
local excess = math.min(2000, (host and host.queued or 0) - tonumber(ARGV[2]))
if excess <= 0 then
    return ''
end
local rows = queue.open(ARGV[1], host.chunks, host.last, nil)
local found = {}

-- Add the last of the entries that begin at `at` to `found`, as many as are over the limit. Returns false if no more
-- are over it.
local function take_from(entries, at)
    local starts = {}
    while at <= #entries do
        starts[#starts + 1] = at
        at = entry_end(entries, at)
    end
    local from = math.max(1, #starts - excess + 1)
    found[#found + 1] = string.sub(entries, starts[from])
    excess = excess - (#starts - from + 1)
    return excess > 0
end

local low, high = '[' .. rows.prefix, '(' .. rows.prefix .. BEHIND_ALL
local wanted = queue.tail(rows) == '' or take_from(rows.tail, 1)
while wanted do
    local chunks = redis.call('ZREVRANGEBYLEX', CHUNKS, high, low, 'LIMIT', 0, STEP)
    for _, chunk in ipairs(chunks) do
        wanted = wanted and take_from(chunk, rows.begin)
        high = '(' .. chunk
    end
    wanted = wanted and #chunks == STEP
end
return table.concat(found)
