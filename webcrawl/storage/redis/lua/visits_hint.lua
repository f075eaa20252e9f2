-- visits_hint: let a page be due earlier, unless it is out
-- uses: visits
--
-- KEYS, ARGV[1]  see visits.lua
-- ARGV[2]  its fingerprint
-- ARGV[3]  epoch seconds when it is due
-- Returns  1; 0 if it is not remembered

local at = redis.call('ZSCORE', OF, ARGV[2])
if not at then
    return 0
end
if not redis.call('ZSCORE', OUT, ARGV[2]) and tonumber(ARGV[3]) < tonumber(at) then
    redis.call('ZADD', OF, ARGV[3], ARGV[2])
    reckon()
end
return 1
