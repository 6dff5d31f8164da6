-- Tells which of those who hold a key, and of those who wait for it, have the same token, and does
-- not tell the tokens.
--
-- KEYS[1]  the lock key
-- KEYS[2]  its line; KEYS[3] its intent key
-- ARGV[1]  a secret that goes into every mark
--
-- Reply    {mark of the intent, number of holders, mark of each holder, (place, mark) ...}; a mark
--          is '' for what has no token. What is no lock has no holders, and what has many readers
--          has none here; of a long line only the first have marks.

local MOST = 1000 -- readers, or members of a line: the server does nothing else meanwhile

local now = redis.call('time')
now = now[1] * 1000 + math.floor(now[2] / 1000)

local function mark(value)
  local token = string.match(value, '^[^|]*')
  return token == '' and '' or redis.sha1hex(ARGV[1] .. token)
end

-- The value in an entry of a line, see lua/include/entry.lua of the library; nil: it is a guard.
local function value_of(entry)
  local channel, names, at = string.match(entry,
    '^[^|]+|%d+|[wr][ps][^|]*|%d+|%d+|(%d+)|(%d+)|()')
  return at and string.sub(entry, at + tonumber(channel) + tonumber(names))
end

local reply = {'', 0}
if redis.call('type', KEYS[3]).ok == 'string' then
  reply[1] = mark(redis.call('get', KEYS[3]))
end
local kind = redis.call('type', KEYS[1]).ok
if kind == 'string' and redis.call('pttl', KEYS[1]) >= 0 then
  reply[2], reply[3] = 1, mark(redis.call('get', KEYS[1]))
elseif kind == 'zset' then
  local readers = redis.call('zrange', KEYS[1], 0, MOST, 'withscores')
  for i = 1, #readers <= 2 * MOST and #readers or 0, 2 do
    if tonumber(readers[i + 1]) > now then
      reply[2] = reply[2] + 1
      reply[#reply + 1] = mark(readers[i])
    end
  end
end
if redis.call('type', KEYS[2]).ok == 'zset' then
  local line = redis.call('zrange', KEYS[2], 0, MOST - 1, 'withscores')
  for i = 1, #line, 2 do
    local value = value_of(line[i])
    if value then
      reply[#reply + 1] = line[i + 1]
      reply[#reply + 1] = mark(value)
    end
  end
end
return reply
