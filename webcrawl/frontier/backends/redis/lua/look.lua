-- look: keys as they stand, for the check of the books; nothing is changed
-- uses: shard
--
-- KEYS[1..8]  the shard's own, see shard.lua
-- KEYS[9..]   for each key in ARGV its queue:<key> ZSET, see queue.lua
-- ARGV        politeness keys
-- Returns     for each key seven things: its value in `hosts` ('' for none), its value in `held` ('' for none), 1 if it is in
--             `given_up`, the member of `idle` that its record gives ('' if it gives none), 1 if that is there, its value in
--             `queues` ('' for none), 1 if its queue:<key> exists

local answer = {}

local function add(thing)
    answer[#answer + 1] = thing
end

for arg = 1, #ARGV do
    local key = ARGV[arg]
    local value = redis.call('HGET', HOSTS, key) or ''
    local told, member = pcall(function()
        return idle_member(key, opened(value))
    end)
    member = told and member or ''
    add(value)
    add(redis.call('HGET', HELD, key) or '')
    add(redis.call('SISMEMBER', GIVEN_UP, key))
    add(member)
    add(redis.call('ZSCORE', IDLE, member) and 1 or 0)
    add(redis.call('HGET', QUEUES, key) or '')
    add(redis.call('EXISTS', KEYS[arg + 8]))
end
return answer
