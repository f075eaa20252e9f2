-- take_start_urls: give out entries that were pushed for the crawl, under tickets until they are done
--
-- A taken entry is never only in the memory of a process: if its ticket is not done in time, it is given out again.
--
-- KEYS[1]  start_urls  LIST, SET or ZSET of entries, pushed by any client; taken from the left, at random, or highest
--          score first
-- KEYS[2]  taken       HASH  ticket -> entry
-- KEYS[3]  tickets     ZSET  ticket -> when it is given out again (epoch seconds)
-- ARGV[1]  epoch seconds, '' for the server's clock
-- ARGV[2]  how many entries at most
-- ARGV[3]  for how many seconds they are the caller's
-- ARGV[4]  a name that no other call has, from which the names of new tickets are made
-- Returns  {type of KEYS[1], number of tickets that others hold, ticket, entry, ...}

local now = tonumber(ARGV[1])
if not now then
    local time = redis.call('TIME')
    now = tonumber(time[1]) + tonumber(time[2]) / 1000000
end
local most, ends = tonumber(ARGV[2]), now + tonumber(ARGV[3])
local kind = redis.call('TYPE', KEYS[1]).ok
local answer = { kind, 0 }

local function give(ticket, entry)
    redis.call('ZADD', KEYS[3], ends, ticket)
    answer[#answer + 1] = ticket
    answer[#answer + 1] = entry
end

for _, ticket in ipairs(redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', now, 'LIMIT', 0, most)) do
    local entry = redis.call('HGET', KEYS[2], ticket)
    if entry then
        give(ticket, entry)
        most = most - 1
    else
        redis.call('ZREM', KEYS[3], ticket)
    end
end
answer[2] = redis.call('ZCARD', KEYS[3]) - (#answer - 2) / 2

local popped = {}
if most > 0 then
    if kind == 'list' then
        popped = redis.call('LPOP', KEYS[1], most)
    elseif kind == 'set' then
        popped = redis.call('SPOP', KEYS[1], most)
    elseif kind == 'zset' then
        for at, part in ipairs(redis.call('ZPOPMAX', KEYS[1], most)) do
            if at % 2 == 1 then
                popped[#popped + 1] = part
            end
        end
    end
end
for number, entry in ipairs(popped) do
    local ticket = ARGV[4] .. ':' .. number
    redis.call('HSET', KEYS[2], ticket, entry)
    give(ticket, entry)
end
return answer
