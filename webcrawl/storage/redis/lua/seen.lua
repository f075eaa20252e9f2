-- The seen test: the known URLs of a key, with the state of each. Included in the operations that use it.
--
-- A URL is known by its mark: the 8 bytes of its fingerprint, big-endian. A key's marks are in segments, the fields
-- of `seen`: strings of marks in no order, each with one more byte, its code: its state (0 queued, 1 done, 2 failed,
-- 3 refused) plus four times the number of its word (0 for none). So a URL costs 9 bytes and its part of a field.
-- Segment 0 is the field <key>, segment n the field <key> and n in 4 bytes, big-endian. The number of known URLs of
-- the key decides the number of segments, see `segment_count`; the last three bytes of a mark decide its segment, by
-- linear hashing (Litwin, 1980).
--
-- The word of a URL has what is unusual in its record. A failed or refused URL has the rule, and if it was answered a
-- tab and the status; another URL has a line feed and the status, empty for none. Without a word a done URL has the
-- status 200, and every other URL no rule and no status.
--
-- `reasons` is a HASH word -> number with the first words of the shard: up to 63 of failed or refused URLs, of which 23
-- have a status, and up to 63 of others. If there is no number left, the status is not stored, then the rule is not.
-- It is KEYS[11] of the operations that need it.
--
-- marks.py has the same.

local FULL, MANY = 64, 16384
local STATES, DONE, FAILED, REFUSED = { [0] = 'queued', 'done', 'failed', 'refused' }, 1, 2, 3
local REPEAT, DONE_AGAIN, WORDS_MAX, WITH_STATUS_MAX, UNKNOWN = 45, 43, 63, 23, '\n'
-- The rule of URLs that were pruned: these have no status, so that their code is always the same.
local QUEUE_FULL = 'queue-full'

-- `fields`: the requested segments, and `numbers` the other way round; `texts`: their contents; `added`:
-- the units to append to them; `words`: those of a call; `new_words`: new ones with their numbers.
local seen = { fields = {}, numbers = {}, texts = {}, added = {}, changed = {}, words = {}, new_words = {} }

-- Doubled when they are full; added one by one if doubling would be too much at once.
local function segment_count(known)
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
local function segment_number(text, at, segments)
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

local function seen_field(key, segment)
    return segment == 0 and key or key .. pack('>I4', segment)
end

-- Return the number of a segment in the lists.
local function request(key, segment)
    local field = seen_field(key, segment)
    local number = seen.numbers[field]
    if not number then
        number = #seen.fields + 1
        seen.fields[number], seen.numbers[field] = field, number
    end
    return number
end

-- Request the only segment of a key. Returns its number; nil if there are more.
function seen.request_only(key, known)
    return known <= FULL and request(key, 0) or nil
end

-- Request the segment of a mark that begins at `at`. Returns its number.
function seen.request(key, known, text, at)
    return request(key, known <= FULL and 0 or segment_number(text, at, segment_count(known)))
end

-- Request the segments of units of a mark and a byte, from `at` on; append their numbers to `found`.
function seen.request_all(key, known, text, at, found)
    local segments, numbers, next = segment_count(known), {}, #found
    for begin = at, #text, 9 do
        local segment = segments <= 256 and byte(text, begin + 7) % segments or segment_number(text, begin, segments)
        local number = numbers[segment]
        if not number then
            number = request(key, segment)
            numbers[segment] = number
        end
        next = next + 1
        found[next] = number
    end
end

-- Read the requested segments.
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

-- Set the code of the mark at `at`.
function seen.turn(number, at, code)
    local text = seen.texts[number]
    seen.texts[number] = sub(text, 1, at + 7) .. code .. sub(text, at + 9)
    seen.changed[number] = true
end

-- The code of the mark at `at`.
function seen.code(number, at)
    return byte(seen.texts[number], at + 8)
end

-- `reasons`, read when it is needed: the number of each word, the words by kind (failed or refused; others) and number,
-- how many of a kind there are, and how many have a rule and a status.
local stored

local function read_words()
    stored = { numbers = {}, [true] = {}, [false] = {}, with_status = 0 }
    local pairs_read = call('HGETALL', KEYS[11])
    for at = 1, #pairs_read, 2 do
        local word, number = pairs_read[at], tonumber(pairs_read[at + 1])
        stored.numbers[word] = number
        stored[byte(word) ~= 10][number] = word
        stored.with_status = stored.with_status + (find(word, '\t', 1, true) and 1 or 0)
    end
end

-- Return the number of a word; nil if there is none left.
local function word_number(word)
    if not stored then
        read_words()
    end
    local number = stored.numbers[word]
    if number then
        return number
    end
    local words, has_both = stored[byte(word) ~= 10], find(word, '\t', 1, true)
    local left = WORDS_MAX - #words
    if byte(word) == 10 and word ~= UNKNOWN and not stored.numbers[UNKNOWN] then
        -- One is for done URLs whose status is not stored.
        left = left - 1
    end
    if left < 1 or has_both and stored.with_status == WITH_STATUS_MAX then
        return nil
    end
    number = #words + 1
    words[number], stored.numbers[word] = word, number
    stored.with_status = stored.with_status + (has_both and 1 or 0)
    local next = #seen.new_words
    seen.new_words[next + 1], seen.new_words[next + 2] = word, number
    return number
end

-- Return the code of a URL.
local function state_code(state, rule, status)
    if rule == QUEUE_FULL then
        status = ''
    end
    if state >= FAILED then
        local number = status ~= '' and word_number(rule .. '\t' .. status) or rule ~= '' and word_number(rule)
        return state + 4 * (number or 0)
    end
    if status == (state == DONE and '200' or '') then
        return state
    end
    return state + 4 * (word_number('\n' .. status) or state == DONE and word_number(UNKNOWN) or 0)
end

-- Return the rule and the status in a word, '' for none. The status is nil if the word does not have it.
local function split_word(word)
    local at = find(word, '[\t\n]')
    if at then
        return sub(word, 1, at - 1), sub(word, at + 1)
    end
    return word, nil
end

-- Return the rule and the status in a code, '' for none.
local function read_record(code)
    local state, number = code % 4, math.floor(code / 4)
    if number == 0 then
        return '', state == DONE and '200' or ''
    end
    if not stored then
        read_words()
    end
    local rule, status = split_word(stored[state >= FAILED][number] or '')
    return rule, status or ''
end

-- Take the words of a call. They are written as those above, but with a line feed in place of the tab; if a word has
-- none of them, the URL keeps its status. New ones are written by `save`: a server without room carries out a script
-- whose first steps create some.
function seen.take_words(words)
    seen.words = words
end

-- Results: 10 bytes, in which a URL has its mark, its new state (a digit; for a repeat '+' if it
-- is done, else '-') and the number of its word among those of the call (a byte; 0 for none). Of a repeat only the status
-- is stored, and that it is done if the URL had failed or was refused.

-- Request the segment of the mark of a result that begins at `at`. Returns its number; false if nothing is stored.
function seen.request_result(key, known, text, at)
    return (byte(text, at + 8) ~= REPEAT or byte(text, at + 9) > 0) and seen.request(key, known, text, at)
end

local function turn_to(number, found, code)
    if code ~= seen.code(number, found) then
        seen.turn(number, found, string.char(code))
    end
end

-- Store the result of a repeat of the mark at `found`. `status`: nil for none.
local function answer(number, found, is_done, status)
    local code = seen.code(number, found)
    local state, rule, kept = code % 4, read_record(code)
    if is_done and state >= FAILED and rule ~= QUEUE_FULL then
        count(STATES[state], -1)
        count(STATES[DONE], 1)
        state, rule = DONE, ''
    elseif not status then
        return
    end
    turn_to(number, found, state_code(state, rule, status or kept))
end

-- Carry out the result that begins at `at`. `removed`: whether the URL was in its queue. Returns true if it was new
-- in the seen test, nil if it was settled before.
function seen.settle(number, text, at, removed)
    local mark, state, word = sub(text, at, at + 7), byte(text, at + 8), seen.words[byte(text, at + 9)]
    local found = seen.find(number, mark)
    local rule, status = split_word(word or '')
    if state == REPEAT or state == DONE_AGAIN then
        if found then
            answer(number, found, state == DONE_AGAIN, word and status)
        end
        return false
    end
    state = state - 48
    local before = found and seen.state(number, found)
    if not removed and before and before ~= REFUSED or seen.is_new(number, mark) then
        -- This was carried out before; or it was pruned while it was fetched, and found again: its new place in the
        -- queue counts.
        return nil
    end
    if not word and state == DONE then
        status = '200'
    elseif not status then
        local _, kept = read_record(before and seen.code(number, found) or 0)
        status = kept
    end
    if not before then
        -- The server forgot its last second.
        seen.add(number, mark .. string.char(state_code(state, rule, status)))
    else
        turn_to(number, found, state_code(state, rule, status))
    end
    if before ~= state then
        if before and before > 0 then
            count(STATES[before], -1)
        end
        if state > 0 then
            count(STATES[state], 1)
        end
    end
    return not before
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
    local number, other = request(key, segment), request(key, segment + whole)
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
    local have, want = segment_count(before), segment_count(now)
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

-- Write new words, and the segments that changed.
function seen.save()
    call_in_parts('HSET', KEYS[11], seen.new_words)
    mix()
    local args, next = {}, 0
    for number in pairs(seen.changed) do
        args[next + 1], args[next + 2] = seen.fields[number], seen.texts[number]
        next = next + 2
    end
    call_in_parts('HSET', SEEN, args)
end
