-- strike: take out of the indexes of a shard what belongs to nothing
--
-- KEYS     any HASHes, SETs and ZSETs of one shard
-- ARGV     for each: which of KEYS, its field or member
-- Returns  how many were there

local COMMANDS = { hash = 'HDEL', set = 'SREM', zset = 'ZREM' }
local struck = 0
for arg = 1, #ARGV, 2 do
    local key = KEYS[tonumber(ARGV[arg])]
    local command = COMMANDS[redis.call('TYPE', key).ok]
    if command then
        struck = struck + redis.call(command, key, ARGV[arg + 1])
    end
end
return struck
