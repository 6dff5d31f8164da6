-- Tells who holds one key, and which writer waits for it.
--
-- KEYS[1]  the lock key
-- KEYS[2]  its intent key; absent if it can have none
--
-- Reply    {mode, ttl, intent ttl, intent metadata, (metadata, ttl of that lease) ...}
--          mode 'free', 'write', 'read' or 'foreign' (then the type stands in the place of the
--          metadata); every ttl in ms, -1: none; the intent's is -2 if no writer waits.

--#include shared.lua

local key, intent = KEYS[1], KEYS[2]
local kind = redis.call('type', key).ok
local ttl = redis.call('pttl', key)

local state = {'free', ttl, -2, ''}
if intent and redis.call('type', intent).ok == 'string' then
  state[3] = redis.call('pttl', intent)
  state[4] = metadata_of(redis.call('get', intent))
end

if kind == 'none' then
  return state
end
if ttl < 0 or (kind ~= 'string' and kind ~= 'zset') then
  state[1] = 'foreign'
  state[5], state[6] = kind, ttl
elseif kind == 'string' then
  state[1] = 'write'
  state[5], state[6] = metadata_of(redis.call('get', key)), ttl
else
  state[1] = 'read'
  local now = clock()
  local leases = redis.call('zrange', key, 0, -1, 'withscores')
  for i = 1, #leases, 2 do
    local left = tonumber(leases[i + 1]) - now
    if left > 0 then
      state[#state + 1] = metadata_of(leases[i])
      state[#state + 1] = left
    end
  end
end
return state
