-- The seen test with Bloom filters, in place of seen.lua where FRONTIER_SEEN is bloom: the same functions for push and
-- settle, without states. FILTER_URLS and FILTER_ERROR, the size and the error of the shard, are set before this text.
--
-- KEYS[12..27]  filters STRING  bitmaps in series. Filter n is for FILTER_URLS * 2^(n-1) URLs, but at most LARGEST, with
--               an error of FILTER_ERROR / 2^n, so that all of them together have at most FILTER_ERROR
-- `seen` has the field `added`: how many URLs were added, which decides what filter is filled.
--
-- The sizes are those of pybloom-live: one slice of bits for each hash, ceil(log2(1/error)) slices. A URL is known if a
-- filter has a bit of it in each slice. A hash is (high * a + low * b) mod 4294967291: high and low are the halves of its
-- fingerprint, a and b numbers below 2^19, other ones for each slice, so that no step is inexact.
--
-- Each mark has the place in the lists that a segment has in seen.lua: its text is the mark and a byte if it is known.

local FULL, STATES, DONE = math.huge, { [0] = 'queued', 'done', 'failed', 'refused' }, 1
local REPEAT, DONE_AGAIN = 45, 43
local FIRST_FILTER, FILTERS, LARGEST = 12, 16, 67108864
local PRIME, LN2 = 4294967291, math.log(2)
-- Of a URL that is new, one in 2^6 has as many bits; so the other slices are rarely read.
local FIRST_SLICES = 6

-- `marks`: those that are asked for, and `numbers` the other way round; `texts`, `added`: see above and seen.lua.
local seen = { marks = {}, numbers = {}, texts = {}, added = {} }

local function request(mark)
    local number = seen.numbers[mark]
    if not number then
        number = #seen.marks + 1
        seen.marks[number], seen.numbers[mark] = mark, number
    end
    return number
end

function seen.request_only()
    return nil
end

function seen.request(_, _, text, at)
    return request(sub(text, at, at + 7))
end

function seen.request_all(_, _, text, at, found)
    local next = #found
    for begin = at, #text, 9 do
        next = next + 1
        found[next] = request(sub(text, begin, begin + 7))
    end
end

function seen.request_result(_, _, text, at)
    local what = byte(text, at + 8)
    return what ~= REPEAT and what ~= DONE_AGAIN and seen.request(nil, nil, text, at)
end

-- The numbers a and b of each slice, in turn.
local factors, last_factor = {}, 1
local function factor(at)
    for number = #factors + 1, at do
        last_factor = last_factor * 16807 % 2147483647
        factors[number] = last_factor % 524287 + 1
    end
    return factors[at]
end

-- Return URLs, slices and bits of a slice of the filter of that number.
local function filter_sizes(number)
    local urls = math.min(math.floor(FILTER_URLS * 2 ^ (number - 1)), LARGEST)
    local log_error = -math.log(FILTER_ERROR / 2 ^ number)
    local slices = math.ceil(log_error / LN2)
    return urls, slices, math.ceil(urls * log_error / (slices * LN2 * LN2))
end

-- Append a command of BITFIELD for each slice from `first` to `last` of a mark.
local function append(args, mark, bits, first, last, command, value)
    local high, low = unpacked('>I4I4', mark)
    local next = #args
    factor(2 * last)
    for slice = first, last do
        local hashed = (high * factors[2 * slice - 1] + low * factors[2 * slice]) % PRIME
        args[next + 1], args[next + 2] = command, 'u1'
        -- The server turns a number into text for less than Lua does.
        args[next + 3], next = (slice - 1) * bits + hashed % bits, next + 3
        if value then
            args[next + 1], next = value, next + 1
        end
    end
end

-- Return those of the numbers of marks that have all of these slices.
local function having(filter, numbers, bits, first, last)
    local found, each = {}, last - first + 1
    local at_once = math.floor(UNPACKED / (3 * each))
    for from = 1, #numbers, at_once do
        local args, to = {}, math.min(from + at_once - 1, #numbers)
        for at = from, to do
            append(args, seen.marks[numbers[at]], bits, first, last, 'GET')
        end
        local answers, next = call('BITFIELD_RO', filter, unpack(args)), 1
        for at = from, to do
            local all = 1
            for answer = next, next + each - 1 do
                all = all * answers[answer]
            end
            if all == 1 then
                found[#found + 1] = numbers[at]
            end
            next = next + each
        end
    end
    return found
end

-- Find out which of the requested marks are known.
function seen.fetch()
    local asked, before = {}, 0
    for number = 1, #seen.marks do
        asked[number] = number
    end
    if #asked == 0 then
        return
    end
    local all = tonumber(call('HGET', SEEN, 'added') or '0')
    for filter = 1, FILTERS do
        if before >= all or #asked == 0 then
            break
        end
        local urls, slices, bits = filter_sizes(filter)
        local name, first = KEYS[FIRST_FILTER + filter - 1], math.min(FIRST_SLICES, slices)
        local some = having(name, asked, bits, 1, first)
        if first < slices and #some > 0 then
            some = having(name, some, bits, first + 1, slices)
        end
        if #some > 0 then
            local left = {}
            for _, number in ipairs(some) do
                seen.texts[number] = seen.marks[number] .. '\0'
            end
            for _, number in ipairs(asked) do
                if not seen.texts[number] then
                    left[#left + 1] = number
                end
            end
            asked = left
        end
        before = before + urls
    end
end

function seen.find(number)
    return seen.texts[number] and 1 or nil
end

function seen.is_new(number)
    return seen.added[number] ~= nil
end

function seen.add(number, units)
    seen.added[number] = units
end

function seen.take_words()
end

-- Carry out a result, see seen.lua. A URL that is not in its queue and is known was settled before, or was pruned.
function seen.settle(number, text, at, removed)
    local what = byte(text, at + 8)
    if what == REPEAT or what == DONE_AGAIN then
        return false
    end
    local known = seen.texts[number] or seen.added[number]
    if not removed and known then
        return nil
    end
    if what > 48 then
        count(STATES[what - 48], 1)
    end
    if not known then
        -- The server forgot its last second.
        seen.add(number, sub(text, at, at + 7) .. '\0')
    end
    return not known
end

function seen.grow()
end

-- Write the new marks into the filter that is filled, and into further ones when it is full.
function seen.save()
    local new = {}
    for number in pairs(seen.added) do
        new[#new + 1] = seen.marks[number]
    end
    if #new == 0 then
        return
    end
    local all, begins, next = tonumber(call('HGET', SEEN, 'added') or '0'), 0, 1
    for filter = 1, FILTERS do
        local urls, slices, bits = filter_sizes(filter)
        local name, room = KEYS[FIRST_FILTER + filter - 1], begins + urls - all
        if filter == FILTERS then
            -- There are no more: its error grows.
            room = #new
        end
        if room > 0 then
            if all == begins then
                -- The whole filter at once: it would grow by many steps otherwise.
                call('SETBIT', name, string.format('%.0f', slices * bits - 1), 0)
            end
            local at_once = math.floor(UNPACKED / (4 * slices))
            local last = math.min(#new, next + room - 1)
            for from = next, last, at_once do
                local args = {}
                for at = from, math.min(from + at_once - 1, last) do
                    append(args, new[at], bits, 1, slices, 'SET', '1')
                end
                call('BITFIELD', name, unpack(args))
            end
            all, next = all + math.max(last - next + 1, 0), last + 1
        end
        begins = begins + urls
        if next > #new then
            break
        end
    end
    call('HINCRBY', SEEN, 'added', #new)
end
