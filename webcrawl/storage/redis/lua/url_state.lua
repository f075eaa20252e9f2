-- url_state: return the state of a URL and its word
-- uses: shard seen
--
-- KEYS[1..10]  the shard's own, see shard.lua
-- KEYS[11]     reasons HASH  see seen.lua
-- ARGV         politeness key, mark of the URL
-- Returns      {its code, words and numbers in turn: all of the shard, none if it has no word}; nothing if it is not known

local value = call('HGET', HOSTS, ARGV[1])
if not value then
    return false
end
local segment = seen.request(ARGV[1], unpacked('<I4', value, 5), ARGV[2], 1)
seen.fetch()
local at = seen.find(segment, ARGV[2])
if not at then
    return false
end
local code = seen.code(segment, at)
return { code, code > 3 and call('HGETALL', KEYS[11]) or {} }
