-- What the scripts have in common; it stands in each of them where they include it.
--
-- A stored value is `token` or `token|metadata`. A write-locked key holds it as a string, a
-- read-locked key as the member of a sorted set, its score being the moment, in ms of the
-- server's clock, at which that reader's lease ends. Every lock key has a TTL: a key without
-- one was not written by this library.

local function token_of(value)
  local bar = string.find(value, '|', 1, true)
  return bar and string.sub(value, 1, bar - 1) or value
end

local function metadata_of(value)
  local bar = string.find(value, '|', 1, true)
  return bar and string.sub(value, bar + 1) or ''
end

-- The server's clock, in ms and in µs. Called once per script: it may move while the script runs.
local function clock()
  local time = redis.call('time')
  return time[1] * 1000 + math.floor(time[2] / 1000), time[1] * 1000000 + time[2]
end

-- The strings at KEYS[1..n]; false where there is none or the key is of another type.
local function strings(n)
  if n <= CHUNK then
    return redis.call('mget', unpack(KEYS, 1, n))
  end
  local all = {}
  for first = 1, n, CHUNK do
    local part = redis.call('mget', unpack(KEYS, first, math.min(first + CHUNK - 1, n)))
    for i = 1, #part do
      all[first + i - 1] = part[i]
    end
  end
  return all
end

-- The member under which the token reads the key, and its score; nil if it has no lease that
-- still runs. The value is tried first; metadata may differ, so then every member is.
local function reader(key, token, value, now)
  if redis.call('type', key).ok ~= 'zset' then
    return nil
  end
  local member, score = value, redis.call('zscore', key, value)
  if not score then
    local members = redis.call('zrange', key, 0, -1, 'withscores')
    for i = 1, #members, 2 do
      if token_of(members[i]) == token then
        member, score = members[i], members[i + 1]
        break
      end
    end
  end
  score = tonumber(score or 0)
  if score <= now then
    return nil
  end
  return member, score
end

-- Makes a read-locked key end with the last of its readers.
local function expire_with_last_reader(key)
  local last = redis.call('zrange', key, -1, -1, 'withscores')
  if last[2] then
    redis.call('pexpireat', key, string.format('%d', tonumber(last[2])))
  end
end

-- Puts a lease into a read-locked key. On a key that does not exist yet ZADD XX and PEXPIREAT do
-- nothing; but if memory is short, or the user may not run one of them, they fail there. Otherwise
-- the second one might fail behind the first, and leave a key that is locked for ever.
local function add_reader(key, member, score, now)
  local at = string.format('%d', score)
  if redis.call('exists', key) == 0 then
    redis.call('zadd', key, 'xx', at, member)
    redis.call('pexpireat', key, at)
    redis.call('zadd', key, at, member)
    redis.call('pexpireat', key, at)
    return
  end
  redis.call('zremrangebyscore', key, '-inf', now)
  redis.call('zadd', key, at, member)
  expire_with_last_reader(key)
end

-- A refusal as it is sent back: index of the key; 'write', 'read', 'intent', 'queue' or 'foreign';
-- remaining TTL in ms (-1: none), metadata of the holder (type of a foreign key).
local function refusal(index, mode, ttl, detail)
  return {REFUSED, index, mode, ttl, detail}
end

-- Looks at KEYS[index] for a token that wants it in `mode`. Returns
--   the refusal, nil if the token may have the key;
--   the value under which the token holds the key now, nil if it does not;
--   the type of the key;
--   for how long the token holds it still, ms.
local function look(index, mode, token, value, now)
  local key = KEYS[index]
  local kind = redis.call('type', key).ok
  if kind == 'none' then
    return nil, nil, kind
  end
  local ttl = redis.call('pttl', key)
  if kind == 'string' then
    local held = redis.call('get', key)
    if not held then
      return nil, nil, 'none' -- it has ended since: on some servers the clock goes on in a script
    end
    if token_of(held) == token then
      return nil, held, kind, ttl
    end
    if ttl >= 0 then
      return refusal(index, 'write', ttl, metadata_of(held)), nil, kind
    end
  end
  if kind ~= 'zset' or ttl < 0 then
    return refusal(index, 'foreign', ttl, kind), nil, kind
  end

  local mine, till = reader(key, token, value, now)
  local left = mine and till - now
  if mine and mode == 'read' then
    return nil, mine, kind, left
  end
  -- The last two leases to end: one of them is another's, unless the token reads alone.
  local last = redis.call('zrange', key, -2, -1, 'withscores')
  for i = #last - 1, 1, -2 do
    local its = tonumber(last[i + 1]) - now
    if its > 0 and token_of(last[i]) ~= token then
      if mode == 'read' then
        return nil, nil, kind
      end
      return refusal(index, 'read', its, metadata_of(last[i])), mine, kind
    end
  end
  if mine then
    return nil, mine, kind, left
  end
  -- No lease runs, and yet the key is there: it goes with its TTL, nothing is to be added.
  return refusal(index, 'read', ttl, ''), nil, kind
end

-- The lease that a token is given which holds the key for some time still, or does not: no Obtain
-- shortens it.
local function longer(ttl, left)
  return string.format('%d', math.max(ttl, left or 0))
end

-- Deletes the intents at KEYS[first..last] that are the token's own.
local function withdraw(first, last, token)
  for i = first, last do
    local intent = redis.call('get', KEYS[i])
    if intent and token_of(intent) == token then
      redis.call('del', KEYS[i])
    end
  end
end

-- A refused writer that will ask again (ttl > 0) declares its intents at KEYS[first..last];
-- one that will not withdraws them.
local function declare(first, last, value, ttl, refused)
  if ttl == '0' then
    return withdraw(first, last, token_of(value))
  end
  -- The caller asks again when the lease in its way is over, whatever its strategy says.
  if refused[4] >= 0 then
    ttl = string.format('%d', math.min(ttl, refused[4] + 2000))
  end
  for i = first, last do
    redis.call('set', KEYS[i], value, 'px', ttl)
  end
end
