-- tail: what is over the limit of a queue: its last entries
-- uses: shard queue
--
-- KEYS[1..8]  the shard's own, see shard.lua
-- KEYS[9]     queue:<key> ZSET, see queue.lua
-- ARGV        key, how many URLs may stay
-- Returns     the entries that are over it, as in queue.lua, at most the 2000 last ones

local rows = queue.open(ARGV[1], KEYS[9])
local host = read(ARGV[1])
local excess = math.min(2000, (host and host.queued or 0) - tonumber(ARGV[2]))
if excess <= 0 then
    return ''
end
local chunks = { rows.few }
if rows.long then
    chunks = redis.call('ZREVRANGE', rows.zset, 0, excess - 1)
end
local starts, found = {}, {}
for _, chunk in ipairs(chunks) do
    local at, of_chunk = 1, {}
    while at <= #chunk do
        of_chunk[#of_chunk + 1] = at
        at = entry_end(chunk, at)
    end
    local from = math.max(1, #of_chunk - excess + 1)
    found[#found + 1] = string.sub(chunk, of_chunk[from])
    excess = excess - (#of_chunk - from + 1)
    if excess == 0 then
        break
    end
end
return table.concat(found)
