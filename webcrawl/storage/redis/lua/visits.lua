-- What the operations on visited pages have in common; the pages of one politeness key lie in one slot.
--
-- KEYS[1]  rows    HASH  fingerprint (8 bytes) and politeness key -> what is remembered of a page, see visits.py
-- KEYS[2]  due     ZSET  politeness key -> epoch seconds when pages of it may be taken
-- KEYS[3]  untold  HASH  politeness key -> how often pages were taken since something was heard of one
-- KEYS[4]  of      ZSET  fingerprint of a page of the key -> epoch seconds when it is due (again)
-- KEYS[5]  out     ZSET  the same of those that were taken
-- KEYS[6]  full    SET   politeness keys of which as many pages are out as may be
-- ARGV[1]  the politeness key

local ROWS, DUE, UNTOLD, OF, OUT = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local FULL, KEY = KEYS[6], ARGV[1]

-- When pages of the key may be taken; a key without pages is not remembered.
local function reckon()
    redis.call('SREM', FULL, KEY)
    local first = redis.call('ZRANGE', OF, 0, 0, 'WITHSCORES')
    if first[1] then
        redis.call('ZADD', DUE, first[2], KEY)
    else
        redis.call('ZREM', DUE, KEY)
        redis.call('HDEL', UNTOLD, KEY)
    end
end
