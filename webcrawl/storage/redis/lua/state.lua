-- state: return the state of a URL
-- uses: shard seen
--
-- KEYS[1..10]  the shard's own, see shard.lua
-- ARGV         politeness key, mark of the URL
-- Returns      its state as a number, nothing if it is not known

local value = call('HGET', HOSTS, ARGV[1])
if not value then
    return false
end
local segment = seen.ask(ARGV[1], unpacked('<I4', value, 5), ARGV[2], 1)
seen.fetch()
local at = seen.find(segment, ARGV[2])
return at and seen.state(segment, at) or false
