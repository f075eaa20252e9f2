-- restate: mend the seen test
--
-- KEYS     seen:<n> SETs of integers, see seen.lua
-- ARGV     for each correction: which of KEYS, its member, 1 if that must be in it or 0 if it must not
-- Returns  how many corrections changed something

local changed = 0
for arg = 1, #ARGV, 3 do
    local command = ARGV[arg + 2] == '1' and 'SADD' or 'SREM'
    changed = changed + redis.call(command, KEYS[tonumber(ARGV[arg])], ARGV[arg + 1])
end
return changed
