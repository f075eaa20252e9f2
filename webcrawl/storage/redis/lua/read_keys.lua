-- read_keys: read keys as they are, for the consistency check; nothing is changed
-- uses: shard queue
--
-- KEYS[1..10]  the shard's own, see shard.lua
-- ARGV[1]      how many chunks of each key
-- ARGV[2..]    politeness keys
-- Returns      for each key seven values: its value in `hosts` ('' for none), its value in `held` ('' for none), 1 if
--              it is in `given_up`, the member of `idle` that its record gives ('' if it gives none), 1 if that
--              member exists, its value in `queues` ('' for none), the first of its chunks

local answer = {}

local function add(thing)
    answer[#answer + 1] = thing
end

for arg = 2, #ARGV do
    local key = ARGV[arg]
    local value = call('HGET', HOSTS, key) or ''
    local readable, member = pcall(function()
        return idle_member(key, opened(value))
    end)
    member = readable and member or ''
    add(value)
    add(call('HGET', HELD, key) or '')
    add(call('SISMEMBER', GIVEN_UP, key))
    add(member)
    add(call('ZSCORE', IDLE, member) and 1 or 0)
    add(call('HGET', QUEUES, key) or '')
    add(queue.chunks(queue.open(key, 0, '', ''), tonumber(ARGV[1])))
end
return answer
