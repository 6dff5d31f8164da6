-- What the short cuts need of what stands stored, and of the clock: few functions, because a run of
-- a script pays for each that it makes. It stands in the scripts where they include it, in front of
-- all other files.
--
-- What else a run pays for, on Redis 7.0.15: a number that is given to a command costs 1 µs more
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

-- What follows each part cannot stand in it, so no text is gone through more than once, whoever
-- wrote it.
local ENTRY = '^([^|]+)|(%d+)|([wr][ps][f-][h-]%a*)|([1-9]%d*)|(%d+)|(%d+)|(%d+)|()'

-- The parts of an entry, see entry.lua, up to where the channel begins; nil if the text is none.
-- Numbers of more digits are none that a command takes: such an entry is nobody's.
local function parts_of(text)
  local id, till, how, ttl, keys, channel, names, at = string.match(text, ENTRY)
  if id and #till <= 15 and #ttl <= 12 and #keys <= 9 and #channel <= 9 and #names <= 9 then
    return id, till, how, ttl, keys, channel, names, at
  end
end

-- Publishes on a channel, which is sharded if `how` of an entry says so, and returns how many hear
-- it; nil if the user of this script may not publish.
local function publish(how, channel, message)
  local heard
  if string.sub(how, 2, 2) == 's' then
    heard = redis.pcall('spublish', channel, message)
  else
    heard = redis.pcall('publish', channel, message)
  end
  return type(heard) == 'number' and heard or nil
end
