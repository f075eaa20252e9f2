-- settle: store records of keys, and the results of URLs that were leased, or that are pruned
-- uses: shard queue seen leases
--
-- KEYS[1..10]  the shard's own, see shard.lua
-- KEYS[11]     reasons HASH  see seen.lua
-- ARGV[1]      the caller's name as a member
-- ARGV[2]      epoch in which the links of these URLs were queued, '' for no check: a server that has started since
--              may have forgotten them
-- ARGV[3]      the length from which the length of a queue is returned
-- ARGV[4]      how many words of URLs follow, at most 255, see seen.lua
-- ARGV[5..]    these words; then for each key: key, fence of its record ('0': not checked; '' for no record), its
--              record as in leases.lua, number of URLs, and for each URL two: fence ('0': not checked), and in one
--              string its place (14 bytes), its result (10 bytes, see seen.lua) and, if it goes back into the queue,
--              its entry at the new place
-- Returns      {queued in all, fates, keys and lengths of long queues, keys whose records were dropped}; a fate is 1
--              if the result was stored, 0 if it was dropped because the caller does not hold the key, 2 if the URL
--              is not queued again: it was pruned while it was fetched, and was found again or settled since; or {-1}
--              if the epoch is over, and nothing was done. A second call with the same arguments changes nothing.

if ARGV[2] ~= '' and ARGV[2] ~= (call('HGET', TOTALS, 'epoch') or '0') then
    return { -1 }
end

-- `args`: where the part of each key begins in ARGV.
local me, long, keys, args = ARGV[1], tonumber(ARGV[3]), {}, {}
local words = tonumber(ARGV[4])
local at = 5 + words
while at <= #ARGV do
    keys[#keys + 1] = ARGV[at]
    args[#keys] = at
    at = at + 4 + 2 * ARGV[at + 3]
end

local hosts, held, segments = values(HOSTS, keys), values(HELD, keys), {}
for number = 1, #keys do
    local key = keys[number]
    local known = hosts[number] and unpacked('<I4', hosts[number], 5) or 0
    for arg = args[number] + 5, args[number] + 3 + 2 * ARGV[args[number] + 3], 2 do
        segments[arg] = seen.request_result(key, known, ARGV[arg], 15)
    end
end
seen.fetch()

if words > 0 then
    seen.take_words({ unpack(ARGV, 5, 4 + words) })
end

-- Settle a URL. Returns how many more the queue has, how many more are known, and true if the URL is not in the queue
-- to which it was to go back.
local function settle(rows, arg)
    local text = ARGV[arg]
    local removed, new = queue.remove(rows, sub(text, 1, 14)), false
    if segments[arg] then
        new = seen.settle(segments[arg], text, 15, removed)
        if new == nil then
            return removed and -1 or 0, 0, #text > 24 and not queue.has(rows, sub(text, 25, 38))
        end
    end
    local again = #text > 24 and queue.insert(rows, sub(text, 25))
    return (removed and -1 or 0) + (again and 1 or 0), new and 1 or 0
end

local fates, lost, lengths, written = {}, {}, {}, {}

-- Settle the URLs of a key that the caller may settle; the first of them has the fate of that number. Returns the
-- beginning of its record.
local function settle_all(number, value, holder, fate)
    local queued, known, chunks, last = unpacked(COUNTS, value)
    local rows = queue.open(keys[number], chunks, last, nil)
    local more, new, first = 0, 0, args[number]
    for arg = first + 5, first + 3 + 2 * ARGV[first + 3], 2 do
        if may_write(holder, ARGV[arg - 1], me) then
            local gained, added, dropped = settle(rows, arg)
            more, new = more + gained, new + added
            if dropped then
                fates[fate + (arg - first - 5) / 2] = '2'
            end
        end
    end
    local rank = queue.rank(rows)
    queue.close(rows)
    seen.grow(keys[number], known, known + new)
    count('queued', more)
    count('seen', new)
    if holder then
        count('held_urls', more)
    end
    return pack(COUNTS, queued + more, known + new, rows.chunks, rows.last, rank)
end

-- Store the fates of the URLs that begin at `arg`. Returns true if some of them may be settled.
local function judge(arg, urls, holder)
    local any = false
    for url = arg, arg + 2 * (urls - 1), 2 do
        local allowed = may_write(holder, ARGV[url], me)
        fates[#fates + 1] = allowed and '1' or '0'
        any = any or allowed
    end
    return any
end

for number = 1, #keys do
    local key = keys[number]
    local arg, holder, value = args[number], held[number], hosts[number]
    local fence, urls = ARGV[arg + 1], tonumber(ARGV[arg + 3])
    local records = fence ~= '' and may_write(holder, fence, me)
    local fate = #fates + 1
    local settles = judge(arg + 4, urls, holder)
    if fence ~= '' and not records then
        lost[#lost + 1] = key
    end
    if records or settles then
        if not value then
            value = fresh(0)
            count('hosts', 1)
        end
        if not holder then
            displace(key, opened(value))
        end
        local record = records and ARGV[arg + 2] or sub(value, RECORD_AT)
        value = (settles and settle_all(number, value, holder, fate) or sub(value, 1, RECORD_AT - 1)) .. record
        if not holder then
            place(key, opened(value))
        end
        written[#written + 1] = key
        written[#written + 1] = value
    end
    local queued = value and unpacked('<I4', value) or 0
    if queued >= long then
        lengths[#lengths + 1] = key
        lengths[#lengths + 1] = queued
    end
end

call_in_parts('HSET', HOSTS, written)
seen.save()
settle_totals()
return { tonumber(call('HGET', TOTALS, 'queued') or '0'), table.concat(fates), lengths, lost }
