-- recover: the server has started, or taken the place of another; it may have forgotten its last second
-- uses: shard
--
-- Called before any other operation can be: those are refused by a server that started until they are given to it again.
-- Leases of that second may be unknown here and still be relied on, so none is given out until all have ended or
-- have been confirmed (see join.lua). The numbers of those that were forgotten are never given again.
--
-- KEYS[1..10]  the shard's own, see shard.lua
-- ARGV[1]     epoch seconds, '' for the server's clock
-- ARGV[2]     how many seconds leases last
-- Returns     1 when something was done, 0 when it had been done before

-- Hexadecimal digits, other ones each time a server starts. It is asked for here and nowhere else: what somebody was told
-- a moment ago may have been told by the server that was killed since.
local run = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
if redis.call('HGET', TOTALS, 'run') == run then
    return 0
end
redis.call('HSET', TOTALS, 'run', run)
-- Not a count: the server may forget that too.
redis.call('HSET', TOTALS, 'epoch', string.format('%d', tonumber(string.sub(run, 1, 12), 16)))
redis.call('HINCRBY', TOTALS, 'fence', 1000000)
if redis.call('EXISTS', MEMBERS) == 1 or redis.call('EXISTS', HELD) == 1 then
    redis.call('HSET', TOTALS, 'quiet_until', string.format('%.6f', clock(ARGV[1]) + tonumber(ARGV[2])))
end
return 1
