-- push: queue URLs that were discovered, those of them that are new
-- uses: shard queue seen
--
-- KEYS[1..8]  the shard's own, see shard.lua
-- KEYS[9..]   first seen:<n> SETs of integers, see seen.lua; then for each key in ARGV its queue:<key> ZSET, see queue.lua
-- ARGV[1]     number of buckets that the caller knows of
-- ARGV[2]     the caller's name as a member of the crew
-- ARGV[3]     delay_seconds of a key that is met for the first time
-- ARGV[4]     which of KEYS is the first queue
-- ARGV[5..]   for each key: key, number of entries, and for each entry:
--             which of KEYS is its bucket ('' for a URL that is never seen), digits of its fingerprint, entry as in queue.lua
--             with '0' or '1' (may be repeated) as the first byte of its body
-- Returns     {buckets, URLs seen, queued in all, hosts in all, fates, places that were moved, queued now per key}
--             fates: a digit for each entry, 0 known already, 1 queued, 2 queued beside another of the same fingerprint;
--             or {-1, buckets} when the caller's number of buckets is wrong and nothing was done

if not knows_buckets(ARGV[1]) then
    return { -1, tonumber(redis.call('HGET', TOTALS, 'buckets') or '1') }
end

local me, delay, zset_at = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])

-- '0' known, '1' new, '2' known and to be repeated
local function fate_of(bucket, number, entry)
    if bucket == '' then
        return '2'
    end
    bucket = KEYS[tonumber(bucket)]
    if not state_of(bucket, number) then
        redis.call('SADD', bucket, number .. '0')
        count('seen', 1)
        return '1'
    end
    return string.sub(entry, 19, 19) == '1' and '2' or '0'
end

-- The next place behind one that is taken: two members may have given the same.
local function moved(entry)
    local bytes, at = { string.byte(entry, 1, 14) }, 14
    while bytes[at] == 255 do
        bytes[at], at = 0, at - 1
    end
    bytes[at] = bytes[at] + 1
    return string.char(unpack(bytes)) .. string.sub(entry, 15)
end

local fates, moves, lengths, arg = {}, {}, {}, 5

local function enqueue(rows, entry, fate)
    entry = string.sub(entry, 1, 18) .. (fate == '2' and '1' or '0') .. string.sub(entry, 20)
    local inserted, before = queue.insert(rows, entry), entry
    while not inserted and fate == '1' do
        entry = moved(entry)
        inserted = queue.insert(rows, entry)
    end
    if entry ~= before then
        moves[#moves + 1] = #fates
        moves[#moves + 1] = string.sub(entry, 1, 14)
    end
    return inserted, string.sub(entry, 1, 14)
end

while arg <= #ARGV do
    local key, number = ARGV[arg], tonumber(ARGV[arg + 1])
    arg = arg + 2
    local rows, new, first
    for _ = 1, number do
        local entry = ARGV[arg + 2]
        local fate = fate_of(ARGV[arg], ARGV[arg + 1], entry)
        fates[#fates + 1] = fate
        if fate ~= '0' then
            rows = rows or queue.open(key, KEYS[zset_at])
            local inserted, place = enqueue(rows, entry, fate)
            if inserted then
                new = (new or 0) + 1
                first = (not first or place < first) and place or first
            end
        end
        arg = arg + 3
    end
    lengths[#lengths + 1] = 0
    if new then
        queue.save(rows)
        local host, held = read(key) or first_met(delay), redis.call('HGET', HELD, key)
        if is_idle(host, held) then
            unindex(key, host)
        end
        local level = level_at(first)
        host.level = host.queued > 0 and math.max(host.level, level) or level
        host.queued = host.queued + new
        count('queued', new)
        if held then
            count('held_urls', new)
            if string.sub(held, string.find(held, ' ', 1, true) + 1) ~= me then
                stir(key, first)
            end
        elseif host.given_up == 1 then
            count('given_up_urls', new)
        else
            index(key, host)
        end
        write(key, host)
        lengths[#lengths] = host.queued
    end
    zset_at = zset_at + 1
end

settle_totals()
local totals = redis.call('HMGET', TOTALS, 'buckets', 'seen', 'queued', 'hosts')
return {
    tonumber(totals[1] or '1'), tonumber(totals[2] or '0'), tonumber(totals[3] or '0'), tonumber(totals[4] or '0'),
    table.concat(fates), moves, lengths,
}
