-- settle: what became of URLs that were leased, or that are pruned
-- uses: shard queue seen crew
--
-- KEYS[1..8]  the shard's own, see shard.lua
-- KEYS[9..]   first seen:<n> SETs of integers, see seen.lua; then for each key in ARGV its queue:<key> ZSET, see queue.lua
-- ARGV[1]     number of buckets that the caller knows of
-- ARGV[2]     the caller's name as a member of the crew
-- ARGV[3]     which of KEYS is the first queue
-- ARGV[4]     epoch in which the links of these URLs were queued, '' for no check: a server that has started since may
--             have forgotten them
-- ARGV[5..]   for each key: key, number of URLs, and for each URL:
--             fence ('0': not checked), place, which of KEYS is its bucket ('' for a repeat), digits of its fingerprint,
--             new state as a digit, and with state 0 its entry at its new place ('' otherwise)
-- Returns     {buckets, queued in all, fates, queued now per key}; a fate is 1 when it was carried out, 0 when it was
--             dropped because the caller does not hold the key; or {-1, buckets} when the number of buckets is wrong and
--             {-2} when the epoch is over, and nothing was done. Carried out a second time it changes nothing.

if not knows_buckets(ARGV[1]) then
    return { -1, tonumber(redis.call('HGET', TOTALS, 'buckets') or '1') }
end

if ARGV[4] ~= '' and ARGV[4] ~= (redis.call('HGET', TOTALS, 'epoch') or '0') then
    return { -2 }
end

local STATES = { [0] = 'queued', 'done', 'failed', 'refused' }
local me, zset_at, arg = ARGV[2], tonumber(ARGV[3]), 5
local fates, lengths = {}, {}

-- How many URLs more (or fewer) the queue has for it.
local function carry_out(rows, place, bucket, number, state, again)
    local removed = queue.remove(rows, place)
    local gain = removed and -1 or 0
    local before
    if bucket ~= '' then
        bucket = KEYS[tonumber(bucket)]
        before = state_of(bucket, number)
        if not removed and before and before ~= 3 then
            -- Not pruned while it was fetched, so this was carried out before.
            return 0
        end
        if before ~= state then
            if before then
                redis.call('SREM', bucket, number .. before)
            else
                -- The server forgot its last second.
                count('seen', 1)
            end
            redis.call('SADD', bucket, number .. state)
            if before and before > 0 then
                count(STATES[before], -1)
            end
            if state > 0 then
                count(STATES[state], 1)
            end
        end
    end
    if again ~= '' and queue.insert(rows, again) then
        gain = gain + 1
    end
    return gain
end

while arg <= #ARGV do
    local key, number = ARGV[arg], tonumber(ARGV[arg + 1])
    arg = arg + 2
    local host, held = read(key) or first_met(0), redis.call('HGET', HELD, key)
    if not held then
        displace(key, host)
    end
    local rows, gain = queue.open(key, KEYS[zset_at]), 0
    for _ = 1, number do
        local allowed = may_write(held, ARGV[arg], me)
        fates[#fates + 1] = allowed and '1' or '0'
        if allowed then
            gain = gain + carry_out(
                rows, ARGV[arg + 1], ARGV[arg + 2], ARGV[arg + 3], tonumber(ARGV[arg + 4]), ARGV[arg + 5]
            )
        end
        arg = arg + 6
    end
    host.queued = host.queued + gain
    host.level = queue.level(rows)
    queue.save(rows)
    count('queued', gain)
    if held then
        count('held_urls', gain)
    else
        place(key, host)
    end
    write(key, host)
    lengths[#lengths + 1] = host.queued
    zset_at = zset_at + 1
end

settle_totals()
return {
    tonumber(redis.call('HGET', TOTALS, 'buckets') or '1'), tonumber(redis.call('HGET', TOTALS, 'queued') or '0'),
    table.concat(fates), lengths,
}
