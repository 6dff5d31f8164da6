-- What the scripts have in common: stored values, and the clock.
--
-- A stored value is `token` or `token|metadata`. A write-locked key holds it as a string, a
-- read-locked key as the member of a sorted set, see readers.lua. Every lock key has a TTL: a key
-- without one was not written by this library.
--
-- A value without a token, `|` or `|metadata`, is nobody's: its owner has left the key, which stays
-- taken until its TTL is over.

local function token_of(value)
  local bar = string.find(value, '|')
  return bar and string.sub(value, 1, bar - 1) or value
end

local function metadata_of(value)
  local bar = string.find(value, '|')
  return bar and string.sub(value, bar + 1) or ''
end

-- How a key is held under a value, as replies say it: in `mode`, or left by an owner that held it
-- so.
local function mode_of(mode, value)
  return string.sub(value, 1, 1) == '|' and mode .. '-left' or mode
end

-- Whether a text can be a value of this library: it is not empty, and the part before its first '|'
-- is not too long for a token. A text that begins with '|' has been left.
local function is_value(text)
  return text ~= '' and #token_of(text) <= MOST_TOKEN
end

-- The same for a reply with a place of its own for it: 1 if it was left, else 0.
local function is_left(value)
  return mode_of('', value) ~= '' and 1 or 0
end

-- A refusal as it is sent back: index of the key; 'write', 'read', 'write-left', 'read-left',
-- 'intent', 'queue' or 'foreign'; remaining TTL in ms (-1: none), metadata of the holder (type of a
-- foreign key).
local function refusal(index, mode, ttl, detail)
  return {REFUSED, index, mode, ttl, detail}
end

-- When a token was made: its first 8 characters, ms since 1970. '' if it is not a token that the
-- library has made: these have 30 characters of base64url. The other 22 are random and never leave
-- the server in a reply to somebody else. A token that begins with 'AN' is of the year 2000, as in
-- tests with virtual time, and one that begins with 'Az' of the year 2079. The client has to see
-- whether the time is possible.
local function since_of(value)
  local token = token_of(value)
  if #token ~= 30 or string.find(token, '[^%w_-]') then
    return ''
  end
  return string.match(token, '^A[N-Za-z]......') or ''
end

-- The server's clock, in ms and in µs. Called once per script: it may move while the script runs.
local function clock()
  local time = redis.call('time')
  return time[1] * 1000 + math.floor(time[2] / 1000), time[1] * 1000000 + time[2]
end
