-- load: read parts of queues
-- uses: shard queue
--
-- KEYS[1..10]  the shard's own, see shard.lua
-- ARGV         for each key: key, the place behind which to begin ('' for the start), number of entries
-- Returns      for each key: its entries as in queue.lua, 1 if there are more behind them

local keys, answer = {}, {}
for arg = 1, #ARGV, 3 do
    keys[#keys + 1] = ARGV[arg]
end
local hosts, tails = values(HOSTS, keys), values(QUEUES, keys)
for number, key in ipairs(keys) do
    local _, _, chunks, last = unpacked(COUNTS, hosts[number] or fresh(0))
    local rows = queue.open(key, chunks, last, tails[number])
    local entries, more = queue.entries(rows, ARGV[3 * number - 1], tonumber(ARGV[3 * number]))
    answer[#answer + 1] = entries
    answer[#answer + 1] = more and 1 or 0
end
return answer
