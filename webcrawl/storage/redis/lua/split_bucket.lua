-- Linear hashing: split a bucket into two. Included in the operations that use it.
--
-- Members are the decimal digits of a fingerprint with a 0 appended, as in marks.py: integers of 64 bits, of which
-- Redis keeps up to 512 in 8 bytes each.

-- Move to `new` the members that belong in the bucket with this number, of `size` when all of them are split.
local function split(old, new, number, size)
    local stay, go = {}, {}
    for _, member in ipairs(redis.call('SMEMBERS', old)) do
        -- The last nine digits before the appended 0, as in marks.py.
        local digits = string.sub(string.gsub(member, '^-', ''), -10, -2)
        local side = tonumber(digits) % size == number and go or stay
        side[#side + 1] = member
    end
    redis.call('DEL', old)
    for side, key in pairs({ [stay] = old, [go] = new }) do
        for from = 1, #side, 1000 do
            redis.call('SADD', key, unpack(side, from, math.min(from + 999, #side)))
        end
    end
end
