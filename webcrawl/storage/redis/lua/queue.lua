-- Queues: entries in the order of their places, many together, so that a URL costs little more than its bytes.
-- Included in the operations that use them, after shard.lua.
--
-- An entry is its place (14 bytes), the length of the rest (4 bytes, big-endian) and its body; see packing.py. The
-- end of a queue, its tail, is the value of its key in `queues`: an entry after the last one changes nothing else. A
-- tail that has grown too long becomes chunks: members of `chunks`, each the length of the key (2 bytes, big-endian),
-- the key and entries. So the chunks of a key lie together, ordered by their first places.

-- A full chunk takes just less than 1024 bytes in the server, including the server's own header: memory is allocated
-- in certain sizes of which this is one.
local CHUNK = 1020
local BEHIND_ALL = string.rep('\255', 15)

local function queue_prefix(key)
    return pack('>I2', #key) .. key
end

local function entry_end(text, at)
    local a, b, c, d = byte(text, at + 14, at + 17)
    return at + 18 + ((a * 256 + b) * 256 + c) * 256 + d
end

-- Return where the first entry at or after `place` begins, from `at` on, and true if it has that place.
local function seek(text, place, at)
    while at <= #text do
        local here = sub(text, at, at + 13)
        if here >= place then
            return at, here == place
        end
        at = entry_end(text, at)
    end
    return at, false
end

local function last_place(text, at)
    local before = at
    while at <= #text do
        at, before = entry_end(text, at), at
    end
    return sub(text, before, before + 13)
end

-- A queue that is read or changed. `tail`: of its key in `queues`, false for none; nil if it is to be read when it is
-- needed. The caller writes the changed `chunks` and `last`, after `close`.
local queue = {}

function queue.open(key, chunks, last, tail)
    local prefix = queue_prefix(key)
    return {
        key = key, prefix = prefix, begin = #prefix + 1, chunks = chunks, last = last, tail = tail or tail == false and '',
        changed = false, part = false,
    }
end

function queue.tail(rows)
    if not rows.tail then
        rows.tail = call('HGET', QUEUES, rows.key) or ''
    end
    return rows.tail
end

-- Return members of `chunks` of this queue: at most `number`, from a member on or after it.
function queue.chunks(rows, number, from)
    return call('ZRANGEBYLEX', CHUNKS, from or ('[' .. rows.prefix), '(' .. rows.prefix .. BEHIND_ALL, 'LIMIT', 0, number)
end

-- Return the chunk that has `place` or would have it, nil if the place lies before all chunks.
function queue.find_chunk(rows, place)
    return call('ZREVRANGEBYLEX', CHUNKS, '(' .. rows.prefix .. place .. '\255', '[' .. rows.prefix, 'LIMIT', 0, 1)[1]
end

-- Store chunks of entries: `before`, which ends with a whole entry, and then `text` from `at` on. An entry may be too
-- long for a chunk. Returns the number of chunks, and the rest, which does not fill one.
local function fill_chunks(prefix, before, text, at)
    local args, next, from, room = {}, 0, at, CHUNK - #prefix - #before
    while at <= #text do
        local a, b, c, d = byte(text, at + 14, at + 17)
        local after = at + 18 + ((a * 256 + b) * 256 + c) * 256 + d
        if after - from > room and (at > from or before ~= '') then
            args[next + 1], args[next + 2] = 0, prefix .. before .. sub(text, from, at - 1)
            next, from, before, room = next + 2, at, '', CHUNK - #prefix
        end
        at = after
    end
    call_in_parts('ZADD', CHUNKS, args)
    return next / 2, before .. sub(text, from)
end

-- Write the changes of the current chunk.
local function put_back(rows)
    local part = rows.part
    rows.part = false
    if not part or not part.changed then
        return
    end
    call('ZREM', CHUNKS, part.member)
    if #part.text < rows.begin then
        rows.chunks = rows.chunks - 1
    elseif #part.text <= CHUNK then
        call('ZADD', CHUNKS, 0, part.text)
    else
        local number, left = fill_chunks(rows.prefix, '', part.text, rows.begin)
        call('ZADD', CHUNKS, 0, rows.prefix .. left)
        rows.chunks = rows.chunks + number
    end
end

local function take_in_hand(rows, member, is_first)
    rows.part = { member = member, text = member, is_first = is_first, changed = false }
end

-- Make the chunk that has `place` or would have it the current one; nil if that is the tail.
local function part_at(rows, place)
    local part = rows.part
    if part and place >= sub(part.text, rows.begin, rows.begin + 13) and place <= last_place(part.text, rows.begin) then
        return part
    end
    put_back(rows)
    if rows.chunks == 0 then
        return nil
    end
    local first = queue.chunks(rows, 1)[1]
    if place <= sub(first, rows.begin, rows.begin + 13) or place <= last_place(first, rows.begin) then
        take_in_hand(rows, first, true)
        return rows.part
    end
    local tail = queue.tail(rows)
    if tail ~= '' and place >= sub(tail, 1, 14) then
        return nil
    end
    take_in_hand(rows, queue.find_chunk(rows, place), false)
    return rows.part
end

-- Replace the text from `at` to `after` by `new` in a chunk, or in the tail if there is no chunk.
local function replace(rows, part, at, after, new)
    local text = part and part.text or rows.tail
    text = sub(text, 1, at - 1) .. new .. sub(text, after)
    if part then
        part.text, part.changed = text, true
    else
        rows.tail, rows.changed = text, true
    end
end

-- Append entries: they are in order, begin after `rows.last` and end with `last`.
function queue.append(rows, entries, last)
    rows.last = last
    rows.tail, rows.changed = queue.tail(rows) .. entries, true
end

-- Insert an entry; returns false if its place is taken.
function queue.insert(rows, entry)
    local place = sub(entry, 1, 14)
    if place > rows.last then
        queue.append(rows, entry, place)
        return true
    end
    local part = part_at(rows, place)
    local text, begin = part and part.text or queue.tail(rows), part and rows.begin or 1
    local at, taken = seek(text, place, begin)
    if taken then
        return false
    end
    replace(rows, part, at, at, entry)
    return true
end

-- Return true if there is an entry at a place.
function queue.has(rows, place)
    local part = part_at(rows, place)
    local _, found = seek(part and part.text or queue.tail(rows), place, part and rows.begin or 1)
    return found
end

-- Remove an entry and return it, false if it is not there.
function queue.remove(rows, place)
    local part = part_at(rows, place)
    local text, begin = part and part.text or queue.tail(rows), part and rows.begin or 1
    local at, found = seek(text, place, begin)
    if not found then
        return false
    end
    local after = entry_end(text, at)
    replace(rows, part, at, after, '')
    return sub(text, at, after - 1)
end

-- Return the rank of the first entry; that of level 0 if there is none.
function queue.rank(rows)
    local part = rows.part
    if part and part.is_first and #part.text >= rows.begin then
        return sub(part.text, rows.begin, rows.begin + 5)
    end
    put_back(rows)
    if rows.chunks > 0 then
        return sub(queue.chunks(rows, 1)[1], rows.begin, rows.begin + 5)
    end
    return queue.tail(rows) ~= '' and sub(rows.tail, 1, 6) or NO_RANK
end

-- Write the changes of a queue, but for `chunks` and `last`.
function queue.close(rows)
    put_back(rows)
    if rows.changed and #rows.tail + #rows.prefix > CHUNK then
        local number
        number, rows.tail = fill_chunks(rows.prefix, '', rows.tail, 1)
        rows.chunks = rows.chunks + number
    end
    if rows.changed and rows.tail == '' then
        call('HDEL', QUEUES, rows.key)
    elseif rows.changed then
        call('HSET', QUEUES, rows.key, rows.tail)
    end
end

-- Return the next `wanted` entries after `after` ('' for the start), and whether there are more after them.
function queue.entries(rows, after, wanted)
    local found, number = {}, 0
    -- True if `text`, whose entries begin at `at`, has more entries than wanted.
    local function gather(text, at)
        if after ~= '' and after >= sub(text, at, at + 13) then
            local same
            at, same = seek(text, after, at)
            at = same and entry_end(text, at) or at
        end
        local from = at
        while at <= #text and number < wanted do
            at, number = entry_end(text, at), number + 1
        end
        found[#found + 1] = sub(text, from, at - 1)
        return at <= #text
    end
    if rows.chunks > 0 then
        local first = after ~= '' and queue.find_chunk(rows, after)
        local chunk = first or queue.chunks(rows, 1)[1]
        while chunk do
            if gather(chunk, rows.begin) then
                return table.concat(found), true
            end
            chunk = queue.chunks(rows, 1, '(' .. chunk)[1]
        end
    end
    local more = gather(queue.tail(rows), 1)
    return table.concat(found), more
end
