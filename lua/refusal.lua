-- Refusals of those who poll, and intents: a polling writer that waits declares them, and new
-- readers stay out. This stands in the scripts where they include it, behind values.lua and
-- guard.lua.

-- A key of KEYS[1..n] is held by somebody else: most of the calls of those who poll. This saves
-- 60 % of one key, 50 % of 8. `there`: how many of the keys and of their lines exist. The first
-- key that exists is the first that is in the way if it is the first of all, or if nobody can wait
-- for those before it, because all that exists are keys. The first `w` keys are to be written, the
-- others to be read. `known`: the strings at the keys, if they have been asked for. Returns the
-- refusal; nil if it takes more to know.
local function refused_at_once(set, w, there, token, known)
  local n = set.n
  if n > CHUNK then
    return nil -- what is stored at all keys may be very much
  end
  local held, rest, first = known or strings(n), there, nil
  for i = 1, n do
    rest = rest - (held[i] and 1 or 0) -- the lines, and the keys that are no strings
    first = first or held[i] and i
  end
  local mode, value = 'write', first and held[first]
  if rest > 0 and first ~= 1 then
    for i = 1, rest == 1 and (first or n + 1) - 1 or 1 do
      local last = redis.pcall('zrange', KEYS[i], '-1', '-1')[1] -- whose lease ends with the key
      if last then
        first, mode, value, rest = i, 'read', last, rest - 1
        break
      end
    end
  end
  if not value or first ~= 1 and rest > 0 or mode == 'read' and first > w
    or token_of(value) == token or rest > 0 and redis.pcall('zscore', set.home, set.owner) then
    return nil
  end
  local left = is_value(value) and redis.call('pttl', KEYS[first]) or -1
  return left >= 0 and refusal(first, mode_of(mode, value), left, metadata_of(value)) or nil
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
