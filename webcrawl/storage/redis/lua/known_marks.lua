-- known_marks: return which URLs the Bloom filters have, and add those that they do not have if that is asked for
-- uses: shard seen
--
-- KEYS[1..10]  the shard's own, see shard.lua
-- KEYS[11..]   see filters.lua
-- ARGV[1]      '1' to add the marks, '0' to change nothing
-- ARGV[2]      marks of URLs, each with one more byte
-- Returns      a digit for each: 1 if it is known, 0 if it is not

local numbers, digits = {}, {}
seen.request_all('', 0, ARGV[2], 1, numbers)
seen.fetch()
for at = 1, #numbers do
    digits[at] = seen.find(numbers[at]) and '1' or '0'
    if digits[at] == '0' and ARGV[1] == '1' then
        seen.add(numbers[at], sub(ARGV[2], 9 * at - 8, 9 * at))
    end
end
seen.save()
return table.concat(digits)
