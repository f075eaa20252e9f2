-- repair_key: repair a key: put its queue in order, and make its record and the indexes agree with the queue
-- uses: shard queue leases
--
-- The totals are not changed: they are counted anew when everything else is right.
--
-- KEYS[1..10]  the shard's own, see shard.lua
-- ARGV[1]      politeness key
-- ARGV[2]      epoch seconds by the clock in which the hosts' times are kept
-- ARGV[3]      delay_seconds of a key that has no record
-- ARGV[4..]    places of entries to remove
-- Returns      the number of queued URLs

local key, now, delay = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local drop = {}
for arg = 4, #ARGV do
    drop[ARGV[arg]] = true
end

local host, held = read(key), call('HGET', HELD, key)
if not host then
    host = new_record(delay)
    host.next_at = now + delay
end
local rows = queue.open(key, host.chunks, host.last, nil)
local entries, last, sound = {}, '', true

local function gather(text, at)
    while at <= #text do
        local after, place = entry_end(text, at), sub(text, at, at + 13)
        if drop[place] then
            sound = false
        else
            sound = sound and place > last
            last = place > last and place or last
            entries[#entries + 1] = sub(text, at, after - 1)
        end
        at = after
    end
end

local chunks = {}
local some = queue.chunks(rows, 100)
while #some > 0 do
    for _, chunk in ipairs(some) do
        gather(chunk, rows.begin)
        chunks[#chunks + 1] = chunk
    end
    some = queue.chunks(rows, 100, '(' .. chunks[#chunks])
end
gather(queue.tail(rows), 1)
sound = sound and #chunks == host.chunks and host.last >= last

-- The first place after one.
local function behind(place)
    local bytes, at = { string.byte(place, 1, 14) }, 14
    while bytes[at] == 255 do
        bytes[at], at = 0, at - 1
    end
    bytes[at] = bytes[at] + 1
    return string.char(unpack(bytes))
end

local function rewrite()
    call_in_parts('ZREM', CHUNKS, chunks)
    call('HDEL', QUEUES, key)
    table.sort(entries)
    local fresh_rows, before, place = queue.open(key, 0, '', ''), '', ''
    local kept = {}
    for _, entry in ipairs(entries) do
        if entry ~= before then
            before = entry
            if sub(entry, 1, 14) <= place then
                -- Another URL has its place.
                entry = behind(place) .. sub(entry, 15)
            end
            place = sub(entry, 1, 14)
            kept[#kept + 1] = entry
        end
    end
    queue.append(fresh_rows, table.concat(kept), place)
    queue.close(fresh_rows)
    host.chunks, host.last = fresh_rows.chunks, place > host.last and place or host.last
    entries = kept
end

if not sound then
    rewrite()
end

if held and not call('ZSCORE', MEMBERS, lease_holder(held)) then
    call('HDEL', HELD, key)
    host.next_at = math.max(host.next_at, now + host.delay)
    held = nil
end
unindex(key, host)
call('SREM', GIVEN_UP, key)
host.queued, host.rank = #entries, entries[1] and sub(entries[1], 1, 6) or NO_RANK
if not held then
    place(key, host)
end
write(key, host)
return #entries
