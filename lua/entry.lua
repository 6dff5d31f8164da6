-- Who waits for a key; it stands in the scripts where they include it.
--
-- Whoever waits for a set of keys stands in the line of each of them: a sorted set beside the lock
-- key, of entries scored with their places. The place of a waiter is the same number in all its
-- lines, greater than every place that was in one of them when it came; so the order is the same
-- everywhere, and waiters of overlapping sets cannot wait for each other. An entry is
--
--   id|alive until|how|ttl|size of the set|#channel|#names|channel names value
--
-- The caller writes what stands between `alive until` and the value, for its first key.
--
-- id       of the waiter, 22 characters. The first NAME of them are the name by which messages call
--          it; the rest is a secret, which is told with the grant alone: so nobody who can only
--          listen and publish can make the waiter believe that it was granted its keys
-- alive    until this ms of the server's clock, unless it asks again. At this moment less LIFE it
--          entered, or asked last; the moment at which it came is its place
-- how      'w' or 'r': it wants to write this key, or to read it; 's' sharded or 'p' plain pub/sub;
--          'f' it wants a fencing number, or '-'; 'h' the first key of its set, or '-'. More
--          letters may follow, which these scripts leave alone
-- ttl      of its lease, ms
-- names    of the keys of the set: 'w5:stock' one after the other at the first of them, the name
--          of the first at the others; none if it waits for one key
-- value    it will hold: `token` or `token|metadata`
--
-- What is published on a waiter's channel (the first is for whoever counts who hears it):
--
--   ''                             nothing
--   w|name                         ask again now
--   h|name|ms                      nobody is before you: ask again when this lease is over
--   g|id|us|number|next name|ms    granted at this microsecond of the server's clock, with this
--                                  fencing number or 0; and what 'h' would have told the next, if
--                                  it has the same channel, else nothing

-- The name by which messages call a waiter.
local function name_of(id)
  return string.sub(id, 1, NAME)
end

-- The text of an entry.
local function entry_text(id, till, how, ttl, keys, channel, names, value)
  return string.format('%s|%d|%s|%s|%d|%d|%d|%s%s%s', id, till, how, ttl, keys, #channel, #names,
    channel, names, value)
end
