-- Read-locked keys, and who holds a key.
--
-- A read-locked key is a sorted set with a member for each reader: its value, scored with the
-- moment, in ms of the server's clock, at which its lease ends. The key ends with the last of them.
-- However many readers a key has, a script looks at a few of them. It finds members by their value,
-- and drops readers with ended leases a few at a time.

local MOST_ENDED = 16 -- readers with ended leases that one script drops of a key

-- The reply of a command that reads a sorted set; nil if the key is of another type.
local function of_readers(command, key, ...)
  local reply = redis.pcall(command, key, ...)
  if type(reply) == 'table' and reply.err then
    if string.sub(reply.err, 1, 9) ~= 'WRONGTYPE' and redis.call('exists', key) == 1 then
      redis.call(command, key, ...) -- it fails once more, and the script with it
    end
    return nil
  end
  return reply
end

-- The member under which the token reads the key, and its score; nil if it has no lease that still
-- runs, or the key is of another type. It is found by its value. A caller that has chosen the token
-- may have used it with other metadata: if set.searches, every member is looked at. Otherwise one
-- lock alone knows the token, always with the same metadata, so what is not found is not there.
local function reader(set, key, token, value)
  local member, score = value, of_readers('zscore', key, value)
  if score == false and set.searches then
    local members = redis.call('zrange', key, '0', '-1', 'withscores')
    for i = 1, #members, 2 do
      if token_of(members[i]) == token then
        member, score = members[i], members[i + 1]
        break
      end
    end
  end
  score = tonumber(score or 0)
  if score <= set.now then
    return nil
  end
  return member, score
end

-- Drops some readers with ended leases, and their fencing numbers.
local function drop_ended(key, now, hash)
  local ended = redis.call('zrange', key, '-inf', now, 'byscore', 'limit', '0', MOST_ENDED)
  if #ended > 0 then
    redis.call('zrem', key, unpack(ended))
    for i = 1, hash and #ended or 0 do
      ended[i] = token_of(ended[i])
      if ended[i] == '' then
        ended[i] = '|' -- left by its reader; the field '' is the greatest number
      end
    end
    if hash then
      redis.pcall('hdel', hash, unpack(ended))
    end
  end
end

-- Puts a lease into a read-locked key, which ends with the last of its readers.
local function extend_reader(key, member, score)
  redis.call('zadd', key, string.format('%d', score), member)
  local last = redis.call('zrange', key, '-1', '-1', 'withscores')
  redis.call('pexpireat', key, string.format('%d', tonumber(last[2])))
end

-- Puts a lease into a read-locked key, or a key that does not exist. On such a key PEXPIREAT does
-- nothing. But if the user may not run it, it fails there and not after ZADD, which would leave a
-- key that is locked for ever. If the key exists, it drops readers with ended leases, and their
-- fencing numbers.
local function add_reader(set, i, member, score, free)
  local key = KEYS[i]
  local at = string.format('%d', score)
  if free then
    if not set.reader_ttl_proved then
      redis.call('pexpireat', key, at)
      set.reader_ttl_proved = true
    end
    redis.call('zadd', key, at, member)
    redis.call('pexpireat', key, at)
    return
  end
  drop_ended(key, set.now, set.fences and KEYS[set.fences + i])
  extend_reader(key, member, score)
end

-- Ends the lease of a token that reads a key. Returns nil if it has none that still runs; 'alone'
-- if nobody else reads the key, which the caller then has to delete; else 'shared'. It returns the
-- member, too.
local function end_lease(set, key, token, value)
  local last = of_readers('zrange', key, '-2', '-1', 'withscores') or {}
  if #last == 2 and token_of(last[1]) == token then
    return tonumber(last[2]) > set.now and 'alone' or nil, last[1]
  end
  if #last < 4 then
    return nil -- it does not exist, or somebody else reads it alone, or it is of another type
  end
  local member = last[3] == value and tonumber(last[4]) > set.now and value
    or reader(set, key, token, value)
  if not member then
    return nil
  end
  redis.call('zrem', key, member)
  if last[3] == member and tonumber(last[2]) <= set.now then
    unlink(key) -- as PEXPIREAT would, at once
  elseif last[3] == member then -- the key ends with the member before
    redis.call('pexpireat', key, string.format('%d', tonumber(last[2])))
  end
  return 'shared', member
end

-- Looks at the keys from KEYS[first] on, a part of them at a time: a token that is refused at one
-- of the first need not know what is stored at all others. From then on set.seen has the strings,
-- false for what is no string, and set.there how many of all keys exist, if that is known.
local function see_from(set, first)
  local n = math.min(CHUNK, set.n - first + 1)
  local there = n == set.n and set.there or count(first, first + n - 1)
  local found = there > 0 and strings(n, first - 1) or {}
  for i = 1, n do
    set.seen[first + i - 1] = found[i] or false
    there = there - (found[i] and 1 or 0)
  end
  set.only_strings = there == 0 -- each of these keys that exists is a string
end

-- Looks at KEYS[index] for a token that wants it in `mode`; if there is a set.seen, together with
-- the keys behind it. Returns
--   the refusal, nil if the token may have the key;
--   the value under which the token holds the key now, nil if it does not;
--   the type of the key;
--   for how long the token holds it still, ms.
local function look(set, index, mode, token, value)
  local key, now, seen = KEYS[index], set.now, set.seen
  if seen and seen[index] == nil then
    see_from(set, index) -- they are looked at one after the other
  end
  local held
  if seen then
    held = seen[index]
  else
    held = redis.call('mget', key)[1]
  end
  if not held and seen and set.only_strings then
    return nil, nil, 'none'
  end

  local last = not held and of_readers('zrange', key, '-2', '-1', 'withscores')
  if last and #last == 0 then
    return nil, nil, 'none'
  end
  local kind = held and 'string' or last and 'zset' or redis.call('type', key).ok
  local ttl = redis.call('pttl', key)
  if ttl == -2 then
    return nil, nil, 'none' -- it has ended since: on some servers the clock goes on in a script
  end
  if held and token_of(held) == token then
    return nil, held, kind, ttl
  end
  -- The last member of a sorted set has to tell whether it may be a set of readers: to look at all
  -- of them would take longer the more there are.
  local text = held or last and last[#last - 1]
  if ttl < 0 or not text or not is_value(text) then
    return refusal(index, 'foreign', ttl, kind), nil, kind
  end
  if held then
    return refusal(index, mode_of('write', held), ttl, metadata_of(held)), nil, kind
  end

  if mode == 'read' then
    local mine, till = reader(set, key, token, value)
    if mine then
      return nil, mine, kind, till - now
    end
    if tonumber(last[#last]) > now then
      return nil, nil, kind
    end
  else
    -- The last two leases to end: one of them is another's, unless the token reads alone.
    local mine, rest
    for i = #last - 1, 1, -2 do
      local its = tonumber(last[i + 1]) - now
      if its > 0 and token_of(last[i]) ~= token then
        local how = mode_of('read', last[i])
        return refusal(index, how, its, metadata_of(last[i])), nil, kind
      elseif its > 0 and not mine then
        mine, rest = last[i], its
      end
    end
    if mine then
      return nil, mine, kind, rest
    end
  end
  -- No lease runs, and yet the key is there: it goes with its TTL, and nothing may be added.
  return refusal(index, 'read', ttl, ''), nil, kind
end

-- The lease for a token that still holds the key for some time, or does not: no Obtain shortens it.
local function longer(ttl, rest)
  return string.format('%d', math.max(ttl, rest or 0))
end
