-- move: give queued entries other places in their queues
-- uses: shard queue leases
--
-- KEYS[1..10]  the shard's own, see shard.lua
-- ARGV[1]      the caller's name as a member
-- ARGV[2..]    for each key three: the key; the fence under which the caller holds it, '' if it must have no holder;
--              for each entry its place and its new place (14 bytes each)
-- Returns      a digit for each entry: 1 it was moved; 0 it was not there, the other place is taken, or the key is
--              not held as given

local me, keys, fates = ARGV[1], {}, {}
for arg = 2, #ARGV, 3 do
    keys[#keys + 1] = ARGV[arg]
end
local hosts, held = values(HOSTS, keys), values(HELD, keys)

-- Move the entry that `text` describes from `at` on.
local function move(rows, text, at)
    local entry = queue.remove(rows, sub(text, at, at + 13))
    if not entry then
        return '0'
    end
    if queue.insert(rows, sub(text, at + 14, at + 27) .. sub(entry, 15)) then
        return '1'
    end
    queue.insert(rows, entry)
    return '0'
end

-- Move entries of a key. Returns the beginning of its record.
local function move_all(key, value, text)
    local queued, known, chunks, last = unpacked(COUNTS, value)
    local rows = queue.open(key, chunks, last, nil)
    for at = 1, #text, 28 do
        fates[#fates + 1] = move(rows, text, at)
    end
    local rank = queue.rank(rows)
    queue.close(rows)
    return pack(COUNTS, queued, known, rows.chunks, rows.last, rank)
end

local written = {}
for number = 1, #keys do
    local key, value, holder = keys[number], hosts[number], held[number]
    local fence, text = ARGV[3 * number], ARGV[3 * number + 1]
    local as_given = fence == '' and not holder or fence ~= '' and holder == token(fence, me)
    if not (value and as_given) then
        fates[#fates + 1] = string.rep('0', #text / 28)
    else
        if not holder then
            displace(key, opened(value))
        end
        value = move_all(key, value, text) .. sub(value, RECORD_AT)
        if not holder then
            place(key, opened(value))
        end
        written[#written + 1], written[#written + 2] = key, value
    end
end
call_in_parts('HSET', HOSTS, written)
settle_totals()
return table.concat(fates)
