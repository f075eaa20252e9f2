-- load: a stretch of queues
-- uses: shard queue
--
-- KEYS[1..8]  the shard's own, see shard.lua
-- KEYS[9..]   for each key in ARGV its queue:<key> ZSET, see queue.lua
-- ARGV        for each key: key, the place behind which to begin ('' for the start), number of entries
-- Returns     for each key: its entries as in queue.lua, 1 if there are more behind them

local answer, zset_at = {}, 9
for arg = 1, #ARGV, 3 do
    local rows = queue.open(ARGV[arg], KEYS[zset_at])
    local entries, more = queue.entries(rows, ARGV[arg + 1], tonumber(ARGV[arg + 2]))
    answer[#answer + 1] = entries
    answer[#answer + 1] = more and 1 or 0
    zset_at = zset_at + 1
end
return answer
