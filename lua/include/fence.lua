-- Fencing numbers.
--
-- Beside a lock key there is a hash of the numbers that were given for it. Its field '' is the
-- greatest of them. The field '|' is `number|token` of the last hold that was given a number to
-- write the key. The field of a token is the number of its hold to read it. The hash stays for a
-- day after its last use, and twice as long as the lease. So it does not stay for ever, and numbers
-- grow even while the server's clock goes back.

local HOUR = 3600000 -- ms
local DAY = 24 * HOUR

-- For at most this many readers of its keys a script keeps the numbers when it drops others.
local MOST_KEPT = 256

-- It is renewed once an hour, which is seen by the numbers themselves: most are moments, in µs.
local function life_of_fence(ttl)
  return string.format('%d', math.max(DAY + HOUR, 2 * ttl))
end

-- The places in KEYS of a set of n.
local function up_to(n)
  local all = {}
  for i = 1, n do
    all[i] = i
  end
  return all
end

-- The number of a hold: the one that the token was given for every key. nil if there is none, or if
-- it is not the greatest of a key that the token writes: then it is another hold, or the hold has
-- grown. `kinds` has the types of the keys; the keys behind the first `w` are read from now on.
local function number_of_hold(set, w, kinds, token, ttl)
  local number
  for i = 1, set.n do
    local hash = KEYS[set.fences + i]
    local given = redis.call('hget', hash, token)
    if kinds[i] == 'string' then
      local last = redis.call('hget', hash, '')
      if last and given ~= last then
        given = redis.call('hget', hash, '|') == last .. '|' .. token and last
      end
    end
    if not given or number and given ~= number then
      return nil
    end
    number = given
  end
  for i = 1, set.n do
    redis.call('pexpire', KEYS[set.fences + i], life_of_fence(ttl))
    if i > w and kinds[i] == 'string' then
      redis.call('hset', KEYS[set.fences + i], token, number)
    end
  end
  return tonumber(number)
end

-- Dead readers left numbers behind where no script had both. If there are many, the hash begins
-- anew with the numbers of the current readers, and this returns true. If the current ones are
-- many, too, all of it stays.
local function forget_dead_readers(set, hash, key)
  local readers, kept = redis.call('zcard', key), set.kept or 0
  if kept + readers > MOST_KEPT or redis.call('hlen', hash) < 2 * readers + 64 then
    return false
  end
  set.kept = kept + readers
  local numbers = {}
  for _, member in ipairs(redis.call('zrange', key, '0', '-1')) do
    local token = string.match(member, '^[^|]*')
    local number = token ~= '' and redis.call('hget', hash, token)
    if number then
      numbers[#numbers + 1], numbers[#numbers + 2] = token, number
    end
  end
  unlink(hash)
  if #numbers > 0 then
    redis.call('hset', hash, unpack(numbers))
  end
  return true
end

-- The number that comes after every number given before for any of the keys, and is not less than
-- `least`. It is read before a script writes anything. If something other than numbers stands
-- beside a key, nobody may overwrite it, so there is no number: then it returns nil, and the reply
-- that says so. The last number of each key stands in set.before from then on.
local function number_after(set, where, least)
  local number, before = least, set.before or {}
  set.before = before
  for _, i in ipairs(where) do
    local last = redis.pcall('hget', KEYS[set.fences + i], '')
    if type(last) == 'table' and string.sub(last.err, 1, 9) ~= 'WRONGTYPE' then
      return nil, last -- the user may not ask, for example: a made-up number could be too small
    end
    before[i] = last and tonumber(last)
    last = type(last) ~= 'table' and tonumber(last or 0)
    if not last or last ~= last or last >= MOST then -- the second is NaN
      local kind = redis.call('type', KEYS[set.fences + i]).ok
      return nil, redis.error_reply(string.format('FOREIGNFENCE %d %s', i, kind))
    end
    if last >= number then
      number = 1 + last
    end
  end
  return number
end

-- Reports whether the TTL of the hash of KEYS[i] is to be renewed: it was not within this hour, or
-- that is not known, because the last number is no moment that has passed.
local function is_due(set, i, number, ttl)
  local last = set.before[i]
  return not last or last >= set.micros or 2 * ttl > DAY
    or math.floor(last / HOUR / 1000) ~= math.floor(number / HOUR / 1000)
end

-- Gives a token the number after the numbers of all the keys, see number_after. `reads[i]`: it
-- reads KEYS[i]. `shared[i]`: so do others; else the numbers of other tokens are of the past.
local function next_number(set, where, reads, shared, token, number, ttl)
  local text, life = string.format('%d', number), life_of_fence(ttl)
  local written = text .. '|' .. token
  -- Readers that take free keys may find the numbers of very many that have died within the hour:
  -- each looks at one of its keys, by chance.
  local looked_at = where[1 + number % #where]
  for _, i in ipairs(where) do
    local hash, is_new = KEYS[set.fences + i], not set.before[i]
    local due = is_due(set, i, number, ttl)
    if i == looked_at and reads[i] and not shared[i] then
      due = due or redis.call('hlen', hash) > MOST_KEPT
    end
    local begins_anew = due and not is_new and not shared[i]
    -- If the user may not run it, or the ttl is too long, it fails here and not after HSET, which
    -- would leave a hash without a TTL.
    if due and not (is_new and set.fence_ttl_proved) then
      redis.call('pexpire', hash, life)
      set.fence_ttl_proved = true
    end
    if begins_anew then
      unlink(hash)
      is_new = true
    elseif due and not is_new then
      is_new = forget_dead_readers(set, hash, KEYS[i])
    end
    if reads[i] then
      redis.call('hset', hash, '', text, token, text)
    else
      redis.call('hset', hash, '', text, '|', written)
    end
    if is_new then
      redis.call('pexpire', hash, life)
    end
  end
  return number
end

-- Forgets the number of a hold that has ended; `wrote`: it has written the key until now. The key
-- is free by then, and this must not stop the rest of a release: anything but a hash is left alone.
local function forget_number(hash, token, wrote)
  if wrote then
    redis.pcall('hdel', hash, token, '|')
  else
    redis.pcall('hdel', hash, token)
  end
end
