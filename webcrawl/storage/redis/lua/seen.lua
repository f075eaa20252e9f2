-- The seen test: the known URLs of a key, with the state of each. Included in the operations that use it.
--
-- A URL is known by its mark: the 8 bytes of its fingerprint, big-endian. A key's marks are in segments, the fields
-- of `seen`: strings of marks in no order, each with one more byte: its state (0 queued, 1 done, 2 failed, 3 refused)
-- plus four times the number of the reason why it failed or was refused (0 for none; see settle.lua). So a URL costs
-- 9 bytes and its part of a field. Segment 0 is the field <key>, segment n the field <key> and n in 4 bytes,
-- big-endian. The number of known URLs of the key decides the number of segments, see `segments_of`; the last three
-- bytes of a mark decide its segment, by linear hashing (Litwin, 1980). marks.py has the same.

local FULL, MANY = 64, 16384

-- `fields`: the segments that were asked for, and `numbers` the other way round; `texts`: their contents; `added`:
-- the units to append to them.
local seen = { fields = {}, numbers = {}, texts = {}, added = {}, changed = {} }

-- Doubled when they are full; added one by one if doubling would be too much at once.
local function segments_of(known)
    if known > MANY then
        return math.ceil(known / FULL)
    end
    local segments = 1
    while known > FULL * segments do
        segments = 2 * segments
    end
    return segments
end

-- Return which of `segments` has the mark that begins at `at`.
local function segment_of(text, at, segments)
    if segments <= 256 then
        -- A power of two.
        return byte(text, at + 7) % segments
    end
    local high, middle, low = byte(text, at + 5, at + 7)
    local hashed = high * 65536 + middle * 256 + low
    local _, bits = math.frexp(segments)
    local segment = hashed % 2 ^ bits
    return segment < segments and segment or hashed % 2 ^ (bits - 1)
end

local function field_of(key, segment)
    return segment == 0 and key or key .. pack('>I4', segment)
end

-- Return the number of a segment in the lists.
local function ask(key, segment)
    local field = field_of(key, segment)
    local number = seen.numbers[field]
    if not number then
        number = #seen.fields + 1
        seen.fields[number], seen.numbers[field] = field, number
    end
    return number
end

-- Ask for the only segment of a key. Returns its number; nil if there are more.
function seen.ask_only(key, known)
    return known <= FULL and ask(key, 0) or nil
end

-- Ask for the segment of a mark that begins at `at`. Returns its number.
function seen.ask(key, known, text, at)
    return ask(key, known <= FULL and 0 or segment_of(text, at, segments_of(known)))
end

-- Ask for the segments of units of a mark and a byte, from `at` on; append their numbers to `found`.
function seen.ask_all(key, known, text, at, found)
    local segments, numbers, next = segments_of(known), {}, #found
    for begin = at, #text, 9 do
        local segment = segments <= 256 and byte(text, begin + 7) % segments or segment_of(text, begin, segments)
        local number = numbers[segment]
        if not number then
            number = ask(key, segment)
            numbers[segment] = number
        end
        next = next + 1
        found[next] = number
    end
end

-- Read the segments that were asked for.
function seen.fetch()
    seen.texts = values(SEEN, seen.fields)
end

-- Return where a mark begins in units of a mark and a byte; nil if it is not there.
local function find_mark(text, mark)
    local at = find(text, mark, 1, true)
    while at and at % 9 ~= 1 do
        at = find(text, mark, at + 1, true)
    end
    return at
end

-- Return where a mark begins in a segment; nil if it is not known.
function seen.find(number, mark)
    local text = seen.texts[number]
    return text and find_mark(text, mark) or nil
end

-- Return true if a mark was added since segments were read.
function seen.is_new(number, mark)
    local added = seen.added[number]
    return added and find_mark(added, mark) ~= nil
end

-- Add units of a mark and its byte.
function seen.add(number, units)
    local added = seen.added[number]
    seen.added[number] = added and added .. units or units
end

function seen.state(number, at)
    return byte(seen.texts[number], at + 8) % 4
end

-- Set the state and reason of the mark at `at`.
function seen.turn(number, at, state)
    local text = seen.texts[number]
    seen.texts[number] = sub(text, 1, at + 7) .. state .. sub(text, at + 9)
    seen.changed[number] = true
end

local function mix()
    for number, added in pairs(seen.added) do
        seen.texts[number] = (seen.texts[number] or '') .. added
        seen.changed[number] = true
    end
    seen.added = {}
end

-- Move the marks of a segment whose hash has the bit `whole` to the segment `whole` after it.
local function split(key, segment, whole)
    local number, other = ask(key, segment), ask(key, segment + whole)
    local text = seen.texts[number]
    if text == nil then
        text = call('HGET', SEEN, seen.fields[number])
    end
    text = text or ''
    local offset, bit = 7, whole
    while bit > 128 do
        offset, bit = offset - 1, bit / 256
    end
    local stay, go, begin, before = {}, {}, 1, nil
    for at = 1, #text, 9 do
        local goes = byte(text, at + offset) % (2 * bit) >= bit
        if goes ~= before then
            local side = before and go or stay
            side[#side + 1] = sub(text, begin, at - 1)
            begin, before = at, goes
        end
    end
    local side = before and go or stay
    side[#side + 1] = sub(text, begin)
    seen.texts[number], seen.texts[other] = table.concat(stay), table.concat(go)
    seen.changed[number], seen.changed[other] = true, true
end

-- Add segments to a key with `before` known URLs before and `now` now.
function seen.grow(key, before, now)
    local have, want = segments_of(before), segments_of(now)
    if have == want then
        return
    end
    mix()
    while have < want do
        if have * FULL < MANY then
            for segment = 0, have - 1 do
                split(key, segment, have)
            end
            have = 2 * have
        else
            local _, bits = math.frexp(have)
            split(key, have - 2 ^ (bits - 1), 2 ^ (bits - 1))
            have = have + 1
        end
    end
end

-- Write the segments that changed.
function seen.save()
    mix()
    local args, next = {}, 0
    for number in pairs(seen.changed) do
        args[next + 1], args[next + 2] = seen.fields[number], seen.texts[number]
        next = next + 2
    end
    carry_out_on('HSET', SEEN, args)
end
