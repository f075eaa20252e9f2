-- Queues: entries in the order of their places, in chunks, so that a URL costs little more than its bytes.
-- Put before each operation that says so, behind shard.lua.
--
-- An entry is its place (14 bytes), the length of what follows (4 bytes, big-endian) and its body.
-- A short queue is one chunk: the value of its key in `queues`, behind the last place ever in it. A long one has no
-- chunk there but a ZSET of its own, lexical with scores 0, whose members are chunks; each begins with the place of its
-- first entry, so that they sort by it. Chunks are cut at CHUNK bytes.

local CHUNK = 4096
local SHORT = 2048

local function entry_end(chunk, at)
    return at + 18 + struct.unpack('>I4', chunk, at + 14)
end

-- Where the first entry at or behind `place` begins, and whether it is that one.
local function seek(chunk, place)
    local at = 1
    while at <= #chunk do
        local here = string.sub(chunk, at, at + 13)
        if here >= place then
            return at, here == place
        end
        at = entry_end(chunk, at)
    end
    return at, false
end

-- The chunk of a long queue in which `place` is or would be, and whether it is the first.
local function chunk_of(zset, place)
    local chunk = redis.call('ZREVRANGEBYLEX', zset, '(' .. place .. '\255', '-', 'LIMIT', 0, 1)[1]
    if chunk then
        return chunk
    end
    return redis.call('ZRANGE', zset, 0, 0)[1]
end

local function halves(chunk)
    local at = 1
    while at <= #chunk / 2 do
        at = entry_end(chunk, at)
    end
    return string.sub(chunk, 1, at - 1), string.sub(chunk, at)
end

-- Store what became of a chunk: one, or two if it has grown too long.
local function store(zset, chunk)
    if #chunk <= CHUNK then
        redis.call('ZADD', zset, 0, chunk)
        return
    end
    local one, two = halves(chunk)
    redis.call('ZADD', zset, 0, one)
    if two ~= '' then
        redis.call('ZADD', zset, 0, two)
    end
end

local queue = {}

-- Look at a queue that is about to change; `save` writes what became of it.
function queue.open(key, zset)
    local value = redis.call('HGET', QUEUES, key)
    local self = { key = key, zset = zset, last = '', few = '', tail = nil }
    if value then
        self.last = string.sub(value, 1, 14)
        self.few = string.sub(value, 15)
        self.long = self.few == ''
    end
    return self
end

-- A short queue has become a long one.
local function lengthen(self)
    self.long = true
    store(self.zset, self.few)
    self.few = ''
end

-- The last chunk of a long queue is kept apart while entries are put behind it.
local function append(self, entry)
    if not self.long then
        self.few = self.few .. entry
        if #self.few > SHORT then
            lengthen(self)
        end
        return
    end
    if not self.tail then
        self.tail = redis.call('ZREVRANGE', self.zset, 0, 0)[1]
        redis.call('ZREM', self.zset, self.tail)
    end
    if #self.tail + #entry > CHUNK then
        redis.call('ZADD', self.zset, 0, self.tail)
        self.tail = entry
    else
        self.tail = self.tail .. entry
    end
end

local function put_tail_back(self)
    if self.tail then
        redis.call('ZADD', self.zset, 0, self.tail)
        self.tail = nil
    end
end

-- Put an entry where it belongs; false when its place is taken.
function queue.insert(self, entry)
    local place = string.sub(entry, 1, 14)
    if place > self.last then
        self.last = place
        append(self, entry)
        return true
    end
    put_tail_back(self)
    local chunk = self.long and chunk_of(self.zset, place) or self.few
    local at, taken = seek(chunk, place)
    if taken then
        return false
    end
    local grown = string.sub(chunk, 1, at - 1) .. entry .. string.sub(chunk, at)
    if self.long then
        redis.call('ZREM', self.zset, chunk)
        store(self.zset, grown)
    else
        self.few = grown
        if #grown > SHORT then
            lengthen(self)
        end
    end
    return true
end

-- Take an entry out; false when it is not there.
function queue.remove(self, place)
    put_tail_back(self)
    local chunk = self.long and chunk_of(self.zset, place) or self.few
    local at, found = seek(chunk or '', place)
    if not found then
        return false
    end
    local left = string.sub(chunk, 1, at - 1) .. string.sub(chunk, entry_end(chunk, at))
    if not self.long then
        self.few = left
        return true
    end
    redis.call('ZREM', self.zset, chunk)
    if left ~= '' then
        redis.call('ZADD', self.zset, 0, left)
    elseif redis.call('EXISTS', self.zset) == 0 then
        self.long = false
    end
    return true
end

function queue.save(self)
    put_tail_back(self)
    if self.long or self.few ~= '' then
        redis.call('HSET', QUEUES, self.key, self.last .. self.few)
    else
        redis.call('HDEL', QUEUES, self.key)
    end
end

-- The level of the first entry; 0 when there is none.
function queue.level(self)
    put_tail_back(self)
    local chunk = self.long and redis.call('ZRANGE', self.zset, 0, 0)[1] or self.few
    return chunk ~= '' and level_at(chunk) or 0
end

-- The next `wanted` entries behind `after` ('' for the start), and whether there are more behind them.
function queue.entries(self, after, wanted)
    local chunks = { self.few }
    if self.long then
        local first = after ~= '' and chunk_of(self.zset, after) or redis.call('ZRANGE', self.zset, 0, 0)[1]
        chunks = { first }
    end
    local found, number = {}, 0
    while chunks[1] and chunks[1] ~= '' do
        local chunk = chunks[1]
        local at, same = 1, false
        if after ~= '' then
            at, same = seek(chunk, after)
            at = same and entry_end(chunk, at) or at
        end
        local from = at
        while at <= #chunk and number < wanted do
            at, number = entry_end(chunk, at), number + 1
        end
        found[#found + 1] = string.sub(chunk, from, at - 1)
        if at <= #chunk then
            return table.concat(found), true
        end
        chunks = self.long
            and redis.call('ZRANGEBYLEX', self.zset, '(' .. chunk, '+', 'LIMIT', 0, 1) or {}
        if number >= wanted then
            return table.concat(found), chunks[1] ~= nil
        end
    end
    return table.concat(found), false
end
