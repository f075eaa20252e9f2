-- remove_entries: remove entries that belong to nothing from the indexes of a shard
--
-- KEYS     any HASHes, SETs and ZSETs of one shard
-- ARGV     for each: which of KEYS, its field or member
-- Returns  the number of entries that existed

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
