-- Refusals of callers that poll, and intents: a polling writer that waits declares them, and new
-- readers stay out.

-- Somebody else holds a key of KEYS[1..n]: most calls of callers that poll. This saves 60 % for one
-- key, 50 % for 8. `there`: how many of the keys and of their lines exist. If the first key that
-- exists is the first of all, it is the first in the way. It also is if everything that exists is a
-- key: then nobody can wait for the keys before it. The first `w` keys are to be written, the
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
      local last = redis.pcall('zrange', KEYS[i], '-1', '-1')[1] -- the last lease to end
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
  local ttl = is_value(value) and redis.call('pttl', KEYS[first]) or -1
  return ttl >= 0 and refusal(first, mode_of(mode, value), ttl, metadata_of(value)) or nil
end

-- Deletes the token's own intents at KEYS[first..last].
local function withdraw(first, last, token)
  for i = first, last do
    local intent = redis.call('get', KEYS[i])
    if intent and token_of(intent) == token then
      redis.call('del', KEYS[i])
    end
  end
end

-- A refused writer that will ask again (ttl > 0) declares its intents at KEYS[first..last]; a
-- writer that will not ask again withdraws them.
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
