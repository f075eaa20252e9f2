-- Leases: the holder of each key, and the keys of a member that is gone. Included in the operations that use them,
-- after shard.lua.
--
-- A key in `held` belongs to the member named there until that member's time in `members` has come. One entry stands
-- for all keys that a member holds in the shard, so that a renewal costs the same for one key as for thousands.

local TAKEN_OVER_AT_ONCE = 500

-- Fence, padded with zeros, and member.
local function token(fence, member)
    local text = fence .. ' ' .. member
    return string.rep('0', WIDE - #text) .. text
end

local function lease_holder(held)
    return string.sub(held, string.find(held, ' ', 1, true) + 1)
end

local function lease_fence(held)
    return tonumber(string.sub(held, 1, string.find(held, ' ', 1, true) - 1))
end

-- True if the caller may change a key: it holds the key under this number, or asks for no check with '0'.
local function may_write(held, fence, member)
    return fence == '0' or held == token(fence, member)
end

-- Apply the caller's record of a key: next_fetch_at, blocked_until, delay_seconds, parked and given up (0 or 1), as
-- '<dddBB', and the rest of the record.
local function take_record(host, record)
    local after
    host.next_at, host.blocked, host.delay, host.parked, host.given_up, after = struct.unpack('<dddBB', record)
    host.rest = string.sub(record, after)
end

-- Put a key without a holder where it belongs: among the idle, the given up, or nowhere if it has no URLs.
local function place(key, host)
    if host.given_up == 1 then
        redis.call('SADD', GIVEN_UP, key)
        count('given_up_hosts', 1)
        count('given_up_urls', host.queued)
    elseif host.queued > 0 then
        index(key, host)
    end
end

local function displace(key, host)
    if host.given_up == 1 then
        redis.call('SREM', GIVEN_UP, key)
        count('given_up_hosts', -1)
        count('given_up_urls', -host.queued)
    elseif host.queued > 0 then
        unindex(key, host)
    end
end

-- Release a key that was held.
local function put_down(key, host)
    redis.call('HDEL', HELD, key)
    count('held_urls', -host.queued)
    place(key, host)
    write(key, host)
end

-- Release a key of a member that is gone: it rests its full delay from `since`, the last moment at which it may have
-- been contacted.
local function put_down_resting(key, since)
    local host = read(key)
    host.next_at = math.max(host.next_at, since + host.delay)
    put_down(key, host)
end

-- Release the keys that a member holds, but for those in `kept`. Returns true if there are more than are done at
-- once.
local function put_down_all(member, since, kept)
    local held, done = redis.call('HGETALL', HELD), 0
    for at = 1, #held, 2 do
        if lease_holder(held[at + 1]) == member and not kept[held[at]] then
            if done == TAKEN_OVER_AT_ONCE then
                return true
            end
            put_down_resting(held[at], since)
            done = done + 1
        end
    end
    return false
end

-- Take over the keys of a member. Returns false if there are more than are done at once.
local function take_over(member, since)
    if put_down_all(member, since, {}) then
        return false
    end
    redis.call('ZREM', MEMBERS, member)
    return true
end

-- Take over from every member whose time has come. `now` is by this server's clock, `reference` is the same moment by
-- the clock that the hosts' times are kept in: in a cluster that is another server's.
local function take_over_expired(now, reference)
    for _, member in ipairs(redis.call('ZRANGEBYSCORE', MEMBERS, '-inf', now, 'LIMIT', 0, 10)) do
        take_over(member, reference - (now - tonumber(redis.call('ZSCORE', MEMBERS, member))))
    end
end
