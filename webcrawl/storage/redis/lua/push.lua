-- push: queue discovered URLs that are new or were pruned from a queue that has room again
-- uses: shard queue seen
--
-- KEYS[1..10]  the shard's own, see shard.lua
-- KEYS[11]     reasons HASH  see seen.lua
-- ARGV[1]      the caller's name as a member
-- ARGV[2]      delay_seconds of a new key
-- ARGV[3]      the length from which the length of a queue is returned
-- ARGV[4]      epoch seconds: a key whose queue was empty waits for its turn from then on
-- ARGV[5]      the same for a key without a stored record: its first visit comes before further visits to others
-- ARGV[6]      how many URLs a queue may have, '0' for no limit
-- ARGV[7]      the reason of URLs that were pruned from a full queue
-- ARGV[8..]    for each key three: the key; the request to the seen test: 'p' if all of its entries are plain and no
--              mark comes twice, else 'm', where the last entry begins (4 bytes, big-endian, from 1), and for each
--              entry its mark and a byte: 0 for a plain one, 1 for one that may be repeated, 2 for one that is never
--              seen; its entries as in queue.lua, in the order of their places, no two at the same
-- Returns      {queued in all, hosts in all, fates, places of moved entries, keys and lengths of long queues}
--              fates: a digit for each entry, 0 known already, 1 queued, 2 queued beside another of the same
--              fingerprint, 3 known as pruned from a queue that is still full;
--              places: pairs of number of an entry and its place

local ending, delay, long = ' ' .. ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local now, first_waits_from = tonumber(ARGV[4]), tonumber(ARGV[5])
local keys, number = {}, 0
for arg = 8, #ARGV, 3 do
    number = number + 1
    keys[number] = ARGV[arg]
end
local hosts, held = values(HOSTS, keys), values(HELD, keys)

-- The segments of the marks: of each key the only one; or of each mark, those of all keys in one list, from `firsts`
-- on.
local only, segments, firsts = {}, {}, {}
for number = 1, #keys do
    local known = hosts[number] and unpacked('<I4', hosts[number], 5) or 0
    only[number] = seen.request_only(keys[number], known)
    if not only[number] then
        firsts[number] = #segments
        seen.request_all(keys[number], known, ARGV[3 * number + 6], 6, segments)
    end
end
seen.fetch()

-- The new entries. `fates`: of each key a digit for each entry; `news`: how many of a key are queued as the first of
-- their marks; `returned`: how many of these marks were not added, since they were known as pruned.
local fates, news, returned, open = {}, {}, {}, {}

-- The byte of a mark that was pruned from a full queue: refused, with the reason; nil if there is none.
local reason = call('HGET', KEYS[11], ARGV[7])
local PRUNED = reason and 3 + 4 * tonumber(reason) or nil

-- Let pruned entries of a key (for each three: its number, segment and place of its mark) return while there is room
-- beside `new` ones. `digits`: the fates of all.
local function let_return(number, pruned, digits, new)
    local most, value = tonumber(ARGV[6]), hosts[number]
    local room = most > 0 and most - new - (value and unpacked('<I4', value) or 0) or math.huge
    local back = 0
    for at = 1, #pruned, 3 do
        local entry, segment, begin = pruned[at], pruned[at + 1], pruned[at + 2]
        -- The entry may be listed twice.
        if byte(seen.texts[segment], begin + 8) == PRUNED then
            if back < room then
                seen.turn(segment, begin, '\0')
                digits[entry], back = '1', back + 1
            else
                digits[entry] = '3'
            end
        end
    end
    returned[number] = back
    return back
end

-- Look up the marks of a key and add those that are not known. Returns the known ones by their numbers, nil if there
-- are none, and those of them that were pruned, as in `let_return`, nil if there are none.
local function find_known(number, marks)
    local segment, first, found, pruned = only[number], firsts[number], nil, nil
    local texts, added = seen.texts, seen.added
    for entry = 1, (#marks - 5) / 9 do
        local of, mark = segment or segments[first + entry], sub(marks, 9 * entry - 3, 9 * entry + 4)
        local text = texts[of]
        local hit = text and find(text, mark, 1, true)
        local at = hit and (hit % 9 == 1 and hit or seen.find(of, mark))
        if at then
            found = found or {}
            found[entry] = true
            if PRUNED and byte(text, at + 8) == PRUNED then
                pruned = pruned or {}
                local next = #pruned
                pruned[next + 1], pruned[next + 2], pruned[next + 3] = entry, of, at
            end
        elseif not segment then
            added[of] = (added[of] or '') .. mark .. '\0'
        end
    end
    if segment and not found then
        seen.add(segment, sub(marks, 6))
    elseif segment then
        for entry = 1, (#marks - 5) / 9 do
            if not found[entry] then
                seen.add(segment, sub(marks, 9 * entry - 3, 9 * entry + 5))
            end
        end
    end
    return found, pruned
end

-- Return the fates of entries that are all plain.
local function judge(number, marks)
    local all, found, pruned = (#marks - 5) / 9, find_known(number, marks)
    if not found then
        news[number] = all
        return string.rep('1', all)
    end
    local digits, new = {}, 0
    for entry = 1, all do
        digits[entry] = found[entry] and '0' or '1'
        new = found[entry] and new or new + 1
    end
    news[number] = new + (pruned and let_return(number, pruned, digits, new) or 0)
    return table.concat(digits)
end

-- Return the fates of entries of which some may be repeated, are never seen or come twice.
local function judge_each(number, marks)
    local digits, new, pruned = {}, 0, nil
    for entry = 1, (#marks - 5) / 9 do
        local at = 9 * entry - 3
        local of, mark, kind = only[number] or segments[firsts[number] + entry], sub(marks, at, at + 7), byte(marks, at + 8)
        digits[entry] = '2'
        local known = kind ~= 2 and seen.find(of, mark)
        if kind ~= 2 and not known and not seen.is_new(of, mark) then
            seen.add(of, mark .. '\0')
            digits[entry], new = '1', new + 1
        elseif kind == 0 then
            digits[entry] = '0'
            if known and PRUNED and byte(seen.texts[of], known + 8) == PRUNED then
                pruned = pruned or {}
                local next = #pruned
                pruned[next + 1], pruned[next + 2], pruned[next + 3] = entry, of, known
            end
        end
    end
    news[number] = new + (pruned and let_return(number, pruned, digits, new) or 0)
    return table.concat(digits)
end

for number = 1, #keys do
    local marks = ARGV[3 * number + 6]
    fates[number] = (byte(marks) == 112 and judge or judge_each)(number, marks)
    if find(fates[number], '[12]') then
        open[#open + 1] = number
    end
end

-- Return the new ones of entries that are all plain: their text and the place of the last.
local function new_text(number, marks)
    local entries, digits = ARGV[3 * number + 7], fates[number]
    if news[number] == #digits then
        local last = #digits == 1 and 1 or unpacked('>I4', marks, 2)
        return entries, sub(entries, last, last + 13)
    end
    local parts, at, last = {}, 1, 1
    for entry = 1, #digits do
        local after = entry_end(entries, at)
        if byte(digits, entry) == 49 then
            parts[#parts + 1] = sub(entries, at, after - 1)
            last = at
        end
        at = after
    end
    return table.concat(parts), sub(entries, last, last + 13)
end

local moves = {}

-- Return the next place after one that is taken: two members may have given the same.
local function moved(entry)
    local bytes, at = { byte(entry, 1, 14) }, 14
    while bytes[at] == 255 do
        bytes[at], at = 0, at - 1
    end
    bytes[at] = bytes[at] + 1
    return string.char(unpack(bytes)) .. sub(entry, 15)
end

-- Queue one entry. Returns its place, nil if it is queued already.
local function enqueue(rows, text, is_new, entry)
    if is_new and byte(text, 19) ~= 48 then
        text = sub(text, 1, 18) .. '0' .. sub(text, 20)
    end
    local inserted, meant = queue.insert(rows, text), text
    while not inserted and is_new do
        text = moved(text)
        inserted = queue.insert(rows, text)
    end
    local place = sub(text, 1, 14)
    if text ~= meant then
        moves[#moves + 1] = entry
        moves[#moves + 1] = place
    end
    return inserted and place
end

-- Queue the new entries of a key one by one. Returns how many were queued, and the first place of them.
local function enqueue_each(rows, number, earlier)
    local entries, digits = ARGV[3 * number + 7], fates[number]
    local queued, first, at = 0, nil, 1
    for entry = 1, #digits do
        local after, fate = entry_end(entries, at), byte(digits, entry)
        local place = (fate == 49 or fate == 50) and enqueue(rows, sub(entries, at, after - 1), fate == 49, earlier + entry)
        if place then
            queued = queued + 1
            first = (not first or place < first) and place or first
        end
        at = after
    end
    return queued, first
end

-- Update the index of a key without a holder to the rank of its first URL. Returns the record part of its value.
local function reindex(key, value, rank)
    local host = opened(value)
    if host.queued > 0 then
        unindex(key, host)
    else
        host.next_at = math.max(host.next_at, host.rest == '' and first_waits_from or now)
    end
    host.rank = rank
    index(key, host)
    return sub(closed(host), RECORD_AT)
end

local names, lengths, written, stored, changed, places = {}, {}, {}, {}, {}, {}
local queued_more, known_more, held_more, returned_all = 0, 0, 0, 0
local earlier, next = {}, 0
for number = 1, #keys do
    earlier[number] = next
    next = next + #fates[number]
end
for at = 1, #open do
    names[at] = keys[open[at]]
end
local tails = values(QUEUES, names)

-- Queue the new entries of a key, of which some come before the end of its queue. Returns the same as `enqueue_all`.
local function enqueue_apart(number, key, chunks, last, tail)
    local rows = queue.open(key, chunks, last, tail)
    local more, first = enqueue_each(rows, number, earlier[number])
    if more > 0 then
        queue.close(rows)
    end
    return more, first, rows.chunks, rows.last
end

-- Queue the new entries of a key. Returns how many were queued, the first place of them, chunks and the last place.
local function enqueue_all(number, key, chunks, last, tail)
    local marks = ARGV[3 * number + 6]
    if byte(marks) ~= 112 then
        return enqueue_apart(number, key, chunks, last, tail)
    end
    local text, reached = new_text(number, marks)
    local first = sub(text, 1, 14)
    if first <= last then
        return enqueue_apart(number, key, chunks, last, tail)
    end
    local length = (tail and #tail or 0) + #text + #key + 2
    if length <= CHUNK then
        text = tail and tail .. text or text
    else
        local filled
        filled, text = fill_chunks(queue_prefix(key), tail or '', text, 1)
        chunks = chunks + filled
    end
    stored[#stored + 1] = key
    stored[#stored + 1] = text
    return news[number], first, chunks, reached
end

for at = 1, #open do
    local number = open[at]
    local key, value, holder = keys[number], hosts[number], held[number]
    local back = returned[number] or 0
    local new = news[number] - back
    if not value then
        value = fresh(delay)
    end
    local queued, known, chunks, last, rank = unpacked(COUNTS, value)
    local more, first, chunks_now, last_now = enqueue_all(number, key, chunks, last, tails[at])
    if more > 0 then
        local highest, record = sub(first, 1, 6), sub(value, RECORD_AT)
        if queued > 0 and rank < highest then
            highest = rank
        end
        if holder then
            held_more = held_more + more
            if sub(holder, -#ending) ~= ending then
                changed[#changed + 1] = key
                places[#places + 1] = first
            end
        elseif byte(value, GIVEN_UP_AT) == 1 then
            count('given_up_urls', more)
        elseif queued == 0 or highest ~= rank then
            record = reindex(key, value, highest)
        end
        if not hosts[number] then
            count('hosts', 1)
        end
        if known + new > FULL then
            seen.grow(key, known, known + new)
        end
        queued_more, known_more, returned_all = queued_more + more, known_more + new, returned_all + back
        written[#written + 1] = key
        written[#written + 1] = pack(COUNTS, queued + more, known + new, chunks_now, last_now, highest)
            .. record
        if queued + more >= long then
            lengths[#lengths + 1] = key
            lengths[#lengths + 1] = queued + more
        end
    end
end

mark_changed(changed, places)
call_in_parts('HSET', HOSTS, written)
call_in_parts('HSET', QUEUES, stored)
seen.save()
count('queued', queued_more)
count('seen', known_more)
count('refused', -returned_all)
count('held_urls', held_more)
settle_totals()
local totals = call('HMGET', TOTALS, 'queued', 'hosts')
return { tonumber(totals[1] or '0'), tonumber(totals[2] or '0'), table.concat(fates), moves, lengths }
