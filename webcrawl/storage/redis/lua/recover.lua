-- recover: the server has started, or taken the place of another; it may have forgotten its last second
-- uses: shard
--
-- Called before any other operation: a server that started refuses those until they are loaded again. Leases of the
-- last second may be unknown here and still be in use, so no lease is given until all have ended or have been
-- confirmed (see join.lua). Forgotten fences are never given again.
--
-- KEYS[1..10]  the shard's own, see shard.lua
-- ARGV[1]     epoch seconds, '' for the server's clock
-- ARGV[2]     how many seconds leases last
-- Returns     1 if something was done, 0 if it had been done before

-- Hexadecimal digits that differ each time a server starts. They are read here and nowhere else: an answer of a
-- moment ago may come from a server that was killed since.
local run = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
if redis.call('HGET', TOTALS, 'run') == run then
    return 0
end
redis.call('HSET', TOTALS, 'run', run)
-- Not a counter: the server may forget that too.
redis.call('HSET', TOTALS, 'epoch', string.format('%d', tonumber(string.sub(run, 1, 12), 16)))
redis.call('HINCRBY', TOTALS, 'fence', 1000000)
if redis.call('EXISTS', MEMBERS) == 1 or redis.call('EXISTS', HELD) == 1 then
    redis.call('HSET', TOTALS, 'quiet_until', string.format('%.6f', clock(ARGV[1]) + tonumber(ARGV[2])))
end
return 1
