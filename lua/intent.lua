-- Intents: a polling writer that waits declares them, and new readers stay out. This stands in the
-- scripts where they include it, behind values.lua.

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
