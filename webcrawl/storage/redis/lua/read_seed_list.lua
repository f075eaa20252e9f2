-- read_seed_list: coordinate the reading of a list of seeds that several processes were given
--
-- KEYS[1]  seed_lists HASH  digest of a list -> "seeds until member": the number of its seeds that are queued, and
--          until when (epoch seconds) the member reads it alone; until is 0 when all of them are queued
-- ARGV[1]  epoch seconds, '' for the server's clock
-- ARGV[2]  digest
-- ARGV[3]  the caller's name as a member
-- ARGV[4]  how many seeds it has queued
-- ARGV[5]  for how many seconds it goes on reading; 0 if it gives up, '' if it has queued them all
-- Returns  {0 another process reads, 1 the caller reads, 2 all are queued; how many are queued}

local now = tonumber(ARGV[1])
if not now then
    local time = redis.call('TIME')
    now = tonumber(time[1]) + tonumber(time[2]) / 1000000
end
local me, seeds, ends, holder = ARGV[3], 0, 1, ''
local known = redis.call('HGET', KEYS[1], ARGV[2])
if known then
    seeds, ends, holder = string.match(known, '^(%d+) (%S+) (.*)$')
    seeds, ends = tonumber(seeds), tonumber(ends)
end
if ends == 0 then
    return { 2, seeds }
end
if holder ~= me and ends > now then
    return { 0, seeds }
end
local state = 1
seeds = math.max(seeds, tonumber(ARGV[4]))
if ARGV[5] == '' then
    state, ends = 2, 0
else
    ends = now + tonumber(ARGV[5])
end
redis.call('HSET', KEYS[1], ARGV[2], string.format('%d %.6f %s', seeds, ends, me))
return { state, seeds }
