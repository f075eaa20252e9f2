-- share_bandwidth: the caller's share of the bandwidth limit, so that the shares of all members never exceed it
--
-- Max-min fair by what each member would use: who needs less than an equal share gets that, and the others divide the
-- rest. A share that another member holds counts until it has ended, whatever it needs now.
--
-- KEYS[1]  bandwidth HASH  member -> "share wanted ends": bytes per second, wanted is -1 for all there are; until when
--          (epoch seconds) the share may be used
-- ARGV[1]  epoch seconds, '' for the server's clock
-- ARGV[2]  the caller's name as a member
-- ARGV[3]  bytes per second of the whole crawl
-- ARGV[4]  bytes per second that the caller would use, -1 for all there are
-- ARGV[5]  for how many seconds it gets its share
-- ARGV[6]  the least share, as a part of an equal one
-- Returns  its share in bytes per second, as text

local now = tonumber(ARGV[1])
if not now then
    local time = redis.call('TIME')
    now = tonumber(time[1]) + tonumber(time[2]) / 1000000
end
local me, limit, needed = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local wanted, others = { needed < 0 and limit or needed }, 0
local known = redis.call('HGETALL', KEYS[1])
for at = 1, #known, 2 do
    local share, want, ends = string.match(known[at + 1], '^(%S+) (%S+) (%S+)$')
    if not ends or tonumber(ends) <= now then
        redis.call('HDEL', KEYS[1], known[at])
    elseif known[at] ~= me then
        others = others + tonumber(share)
        wanted[#wanted + 1] = tonumber(want) < 0 and limit or tonumber(want)
    end
end

local least = limit / #wanted * tonumber(ARGV[6])
local mine = math.min(math.max(wanted[1], least), limit)
local left, count = limit, #wanted
table.sort(wanted)
local fair = nil
for _, want in ipairs(wanted) do
    local given = math.min(math.max(want, least), left / count)
    if not fair and given < math.max(want, least) then
        fair = given
    end
    left, count = left - given, count - 1
end
-- What nobody needs is divided evenly.
local share = math.min(mine, fair or mine) + math.max(left, 0) / #wanted
share = math.max(math.min(share, limit - others), 0)
redis.call('HSET', KEYS[1], me, string.format('%.3f %.3f %.6f', share, needed, now + tonumber(ARGV[5])))
return string.format('%.3f', share)
