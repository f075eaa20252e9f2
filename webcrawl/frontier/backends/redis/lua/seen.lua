-- The seen test: which state a URL is in. Put before each operation that says so.
--
-- A URL is known by about 60 bits of its fingerprint, as decimal digits, and stored with one more digit: its state
-- (0 queued, 1 done, 2 failed, 3 refused). Integers of 64 bits in sets of at most 512 are kept by Redis in 8 bytes each.
-- Which set, the caller computes from the number of buckets, by linear hashing; see packing.py.

local function state_of(bucket, number)
    local found = redis.call('SMISMEMBER', bucket, number .. '0', number .. '1', number .. '2', number .. '3')
    for state = 1, 4 do
        if found[state] == 1 then
            return state - 1
        end
    end
    return nil
end

-- Whether the caller knows the number of buckets.
local function knows_buckets(told)
    return (redis.call('HGET', TOTALS, 'buckets') or '1') == told
end
