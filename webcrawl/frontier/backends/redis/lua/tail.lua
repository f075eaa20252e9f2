-- tail: what is over the limit of a queue: its last entries
-- uses: shard queue
--
-- KEYS[1..8]  the shard's own, see shard.lua
-- KEYS[9]     queue:<key> ZSET, see queue.lua
-- ARGV        key, how many URLs may stay
-- Returns     the entries that are over it, as in queue.lua, at most the 2000 last ones

-- Chunks read at a time.
local STEP = 8

local rows = queue.open(ARGV[1], KEYS[9])
local host = read(ARGV[1])
local excess = math.min(2000, (host and host.queued or 0) - tonumber(ARGV[2]))
if excess <= 0 then
    return ''
end
local found = {}

-- The last of a chunk's entries, as many as are over the limit; false when that was all of them.
local function take_from(chunk)
    local starts, at = {}, 1
    while at <= #chunk do
        starts[#starts + 1] = at
        at = entry_end(chunk, at)
    end
    local from = math.max(1, #starts - excess + 1)
    found[#found + 1] = string.sub(chunk, starts[from])
    excess = excess - (#starts - from + 1)
    return excess > 0
end

local before = 0
local chunks = rows.long and redis.call('ZREVRANGE', rows.zset, 0, STEP - 1) or { rows.few }
while chunks[1] and chunks[1] ~= '' do
    for _, chunk in ipairs(chunks) do
        if not take_from(chunk) then
            return table.concat(found)
        end
    end
    before = before + STEP
    chunks = rows.long and redis.call('ZREVRANGE', rows.zset, before, before + STEP - 1) or {}
end
return table.concat(found)
