-- The common part of the operations on pages to revisit; the pages of one politeness key are in one slot.
--
-- KEYS[1]  rows    HASH  fingerprint (8 bytes) and politeness key -> the row of a page, see visits.py
-- KEYS[2]  due     ZSET  politeness key -> epoch seconds when pages of it may be taken
-- KEYS[3]  untold  HASH  politeness key -> how often pages were taken since the result of one was last stored
-- KEYS[4]  of      ZSET  fingerprint of a page of the key -> epoch seconds when it is due (again)
-- KEYS[5]  out     ZSET  the same for those that were taken
-- KEYS[6]  full    SET   politeness keys with as many pages out as are allowed
-- ARGV[1]  the politeness key

local ROWS, DUE, UNTOLD, OF, OUT = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local FULL, KEY = KEYS[6], ARGV[1]

-- Update the time from which pages of the key may be taken; remove a key without pages.
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
