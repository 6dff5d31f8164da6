-- What the short cuts need of stored values, and of the clock. There are few functions, because a
-- run of a script pays for each that it makes. Scripts include this file in front of all others.
--
-- A run also pays for this, on Redis 7.0.15: a number as an argument of a command costs 1 µs more
-- than the same as text, and a reply with a score costs 2 µs more than one without.

-- See values.lua.
local function token_of(value)
  local bar = string.find(value, '|', 1, true)
  return bar and string.sub(value, 1, bar - 1) or value
end

-- The server's clock, in ms and in µs. Called once per script: it may move while the script runs.
local function clock()
  local time = redis.call('time')
  return time[1] * 1000 + math.floor(time[2] / 1000), time[1] * 1000000 + time[2]
end

-- No part can contain what follows it, so no text is searched more than once, whoever wrote it.
local ENTRY = '^([^|]+)|(%d+)|([wr][ps][f-][h-]%a*)|([1-9]%d*)|(%d+)|(%d+)|(%d+)|()'

-- The parts of an entry, see entry.lua, up to where the channel begins; nil if the text is not an
-- entry. No command takes numbers of more digits: such an entry is nobody's.
local function parts_of(text)
  local id, till, how, ttl, keys, channel, names, at = string.match(text, ENTRY)
  if id and #till <= 15 and #ttl <= 12 and #keys <= 9 and #channel <= 9 and #names <= 9 then
    return id, till, how, ttl, keys, channel, names, at
  end
end

-- Publishes on a channel, which is sharded if `how` of an entry says so. Returns how many hear it;
-- nil if the user of this script may not publish.
local function publish(how, channel, message)
  local heard
  if string.sub(how, 2, 2) == 's' then
    heard = redis.pcall('spublish', channel, message)
  else
    heard = redis.pcall('publish', channel, message)
  end
  return type(heard) == 'number' and heard or nil
end
