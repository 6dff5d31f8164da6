-- Fencing numbers; it stands in the scripts where they include it.
--
-- Beside a lock key there is a hash of the numbers that were given for it: its field '' is the
-- greatest of them, and the field of a token that of its hold. It stays for a day after its last
-- use, and twice as long as the lease: so it does not stay for ever, and numbers grow also while
-- the server's clock goes back.

local DAY = 86400000 -- ms

local function life_of_fence(ttl)
  return string.format('%d', math.max(DAY, 2 * ttl))
end

-- The number of a hold: the one that the token was given for every key; nil if there is no such,
-- or it is not the greatest one of a key that the token writes: then the hold is another, or has
-- grown. `first` is the place in KEYS before the hashes, `where` has the keys of the hold, and
-- `kinds` their types.
local function number_of_hold(first, where, kinds, token, ttl)
  local number
  for _, i in ipairs(where) do
    local given = redis.call('hget', KEYS[first + i], token)
    if not given or number and given ~= number
      or kinds[i] == 'string' and given ~= redis.call('hget', KEYS[first + i], '') then
      return nil
    end
    number = given
  end
  for _, i in ipairs(where) do
    redis.call('pexpire', KEYS[first + i], life_of_fence(ttl))
  end
  return tonumber(number)
end

-- Readers that died left their numbers behind; drops them when they have become many.
local function forget_dead_readers(hash, key)
  if redis.call('hlen', hash) < 2 * redis.call('zcard', key) + 64 then
    return
  end
  local reads = {}
  for _, member in ipairs(redis.call('zrange', key, 0, -1)) do
    reads[token_of(member)] = true
  end
  for _, token in ipairs(redis.call('hkeys', hash)) do
    if token ~= '' and not reads[token] then
      redis.call('hdel', hash, token)
    end
  end
end

-- The number that comes after every number given before for any of the keys. It is read before a
-- script writes anything: if numbers are not what stands beside a key there can be none, which is
-- for nobody to overwrite. Then it returns nil, and the reply that says so.
local function number_after(first, where, micros)
  local number = micros
  for _, i in ipairs(where) do
    local last = redis.pcall('hget', KEYS[first + i], '')
    if type(last) == 'table' and string.sub(last.err, 1, 9) ~= 'WRONGTYPE' then
      return nil, last -- the user may not ask, for example: a number made up could be too small
    end
    last = type(last) ~= 'table' and tonumber(last or 0)
    if not last or last ~= last or last >= MOST then -- the second is NaN
      local kind = redis.call('type', KEYS[first + i]).ok
      return nil, redis.error_reply(string.format('FOREIGNFENCE %d %s', i, kind))
    end
    number = math.max(number, 1 + last)
  end
  return number
end

-- Gives a token the number that comes after those of all the keys, see number_after.
-- `alone[i]`: nobody else holds the key, so the numbers of other tokens are of the past.
local function next_number(first, where, alone, token, number, ttl)
  local text, life = string.format('%d', number), life_of_fence(ttl)
  for _, i in ipairs(where) do
    local hash = KEYS[first + i]
    -- If the user may not run it, or the ttl is too long, it fails here and not behind HSET, which
    -- would leave a hash without a TTL.
    redis.call('pexpire', hash, life)
    if alone[i] then
      redis.call('del', hash)
    else
      forget_dead_readers(hash, KEYS[i])
    end
    redis.call('hset', hash, '', text, token, text)
    redis.call('pexpire', hash, life)
  end
  return number
end

-- Ends the holds of a token. The keys are free by then, and this must not keep the rest of a
-- release from being done: what is no hash is left alone.
local function forget_numbers(first, where, token)
  for _, i in ipairs(where) do
    redis.pcall('hdel', KEYS[first + i], token)
  end
end
