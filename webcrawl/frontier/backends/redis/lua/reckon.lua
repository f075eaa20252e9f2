-- reckon: mend a key: its queue is put in order, and its record and the indexes are made to say what the queue says
-- uses: shard queue crew
--
-- The totals are left alone: they are counted anew when everything else is right.
--
-- KEYS[1..8]  the shard's own, see shard.lua
-- KEYS[9]     queue:<key> ZSET, see queue.lua
-- ARGV[1]     politeness key
-- ARGV[2]     epoch seconds by the clock in which the hosts' times are kept
-- ARGV[3]     delay_seconds of a key that has no record
-- ARGV[4..]   places of entries that are to go
-- Returns     how many URLs are queued

local key, now, delay = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local drop = {}
for arg = 4, #ARGV do
    drop[ARGV[arg]] = true
end

local rows = queue.open(key, KEYS[9])
local entries, last, sound = {}, '', true

local function gather(chunk)
    local at = 1
    while at <= #chunk do
        local after, place = entry_end(chunk, at), string.sub(chunk, at, at + 13)
        if drop[place] then
            sound = false
        else
            sound = sound and place > last
            last = place > last and place or last
            entries[#entries + 1] = string.sub(chunk, at, after - 1)
        end
        at = after
    end
end

local chunks = redis.call('ZCARD', KEYS[9])
gather(rows.few)
for from = 0, chunks - 1, 100 do
    for _, chunk in ipairs(redis.call('ZRANGE', KEYS[9], from, from + 99)) do
        gather(chunk)
    end
end
sound = sound and (chunks > 0) == (rows.long or false) and rows.last >= last

-- The first place behind one.
local function behind(place)
    local bytes, at = { string.byte(place, 1, 14) }, 14
    while bytes[at] == 255 do
        bytes[at], at = 0, at - 1
    end
    bytes[at] = bytes[at] + 1
    return string.char(unpack(bytes))
end

local function rewrite()
    redis.call('DEL', KEYS[9])
    redis.call('HDEL', QUEUES, key)
    table.sort(entries)
    local fresh, before, place = queue.open(key, KEYS[9]), '', ''
    local kept = {}
    for _, entry in ipairs(entries) do
        if entry ~= before then
            before = entry
            if string.sub(entry, 1, 14) <= place then
                -- Another URL has its place.
                entry = behind(place) .. string.sub(entry, 15)
            end
            place = string.sub(entry, 1, 14)
            queue.insert(fresh, entry)
            kept[#kept + 1] = entry
        end
    end
    fresh.last = rows.last > fresh.last and rows.last or fresh.last
    queue.save(fresh)
    entries = kept
end

if not sound then
    rewrite()
end

local host, held = read(key), redis.call('HGET', HELD, key)
if not host then
    host = first_met(delay)
    host.next_at = now + delay
end
if held and not redis.call('ZSCORE', MEMBERS, holder_of(held)) then
    redis.call('HDEL', HELD, key)
    host.next_at = math.max(host.next_at, now + host.delay)
    held = nil
end
unindex(key, host)
redis.call('SREM', GIVEN_UP, key)
host.queued, host.level = #entries, entries[1] and level_at(entries[1]) or 0
if not held then
    place(key, host)
end
write(key, host)
return #entries
