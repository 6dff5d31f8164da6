-- Waiters for a key.
--
-- A waiter for a set of keys stands in the line of each of them. A line is a sorted set beside the
-- lock key, with entries scored by their places. A waiter has the same place in all its lines: a
-- number greater than every place that was in one of them when it came. So the order is the same
-- everywhere, and waiters of overlapping sets cannot wait for each other. An entry is
--
--   id|alive until|how|ttl|size of the set|#channel|#names|channel names value
--
-- The caller writes what stands between `alive until` and the value, for its first key.
--
-- id       of the waiter, 22 characters. The first NAME of them are its name in messages. The rest
--          is a secret that only the grant tells: so nobody who can only listen and publish can
--          make the waiter believe that it was granted its keys
-- alive    until this ms of the server's clock, unless it asks again. It entered, or last asked,
--          LIFE before that; the moment at which it came is its place
-- how      'w' or 'r': it wants to write this key, or to read it; 's' sharded or 'p' plain pub/sub;
--          'f' it wants a fencing number, or '-'; 'h' the first key of its set, or '-'. More
--          letters may follow, which these scripts leave alone
-- ttl      of its lease, ms
-- names    of the keys of the set: at its first key all of them, as in 'w5:stock', one after the
--          other; at the others the name of the first; none if it waits for one key
-- value    it will hold: `token` or `token|metadata`
--
-- What is published on a waiter's channel (the first only counts the subscribers):
--
--   ''                             nothing
--   w|name                         ask again now
--   h|name|ms                      nobody is before you: ask again when this lease is over
--   g|id|us|number|next name|ms    granted at this microsecond of the server's clock, with this
--                                  fencing number or 0; then what 'h' would tell the next if it
--                                  has the same channel, else nothing

-- The name of a waiter in messages.
local function name_of(id)
  return string.sub(id, 1, NAME)
end

-- The text of an entry.
local function entry_text(id, till, how, ttl, keys, channel, names, value)
  return string.format('%s|%d|%s|%s|%d|%d|%d|%s%s%s', id, till, how, ttl, keys, #channel, #names,
    channel, names, value)
end

-- No part can contain what follows it, so no text is searched more than once, whoever wrote it.
local ENTRY = '^([^|]+)|(%d+)|([wr][ps][f-][h-]%a*)|([1-9]%d*)|(%d+)|(%d+)|(%d+)|()'

-- The parts of an entry up to where the channel begins; nil if the text is not an entry. No command
-- takes numbers of more digits: such an entry is nobody's.
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
