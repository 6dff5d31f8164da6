-- Tells who holds one key, and who waits for it.
--
-- KEYS[1]  the lock key
-- KEYS[2]  its line; KEYS[3] its intent key; KEYS[4] its fence
--
-- Reply    {mode, ttl, fencing number, intent ttl, intent metadata, since, number of leases,
--          (metadata, ttl of that lease, 1 or 0: left or not, since) ...,
--          (mode, metadata, place, 1 or 0: alive or not) ...}
--          mode 'free', 'write', 'read' or 'foreign' (then the type stands in the place of the
--          metadata); every ttl in ms, -1: none; the intent's is -2 if no writer waits;
--          since: when the token was made, see since_of, or ''.

--#include keys.lua
--#include values.lua
--#include entry.lua
--#include line.lua

local key, line, intent, fence = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local kind = redis.call('type', key).ok
local ttl = redis.call('pttl', key)

local state = {'free', ttl, 0, -2, '', '', 0}
if redis.call('type', fence).ok == 'hash' then
  state[3] = tonumber(redis.call('hget', fence, '') or 0) or 0
end
if redis.call('type', intent).ok == 'string' then
  state[4] = redis.call('pttl', intent)
  local value = redis.call('get', intent)
  state[5], state[6] = metadata_of(value), since_of(value)
end

-- As `look` does it. A key without a TTL may hold very much, and is not read.
local now, value, leases = clock(), nil, nil
if kind == 'string' and ttl >= 0 then
  value = redis.call('get', key)
elseif kind == 'zset' and ttl >= 0 then
  leases = redis.call('zrange', key, '0', '-1', 'withscores')
end
local text = value or leases and leases[#leases - 1]
local has_ended = value == false or leases and not text -- since: on some servers the clock goes on
if kind == 'none' or has_ended then
  state[1] = 'free'
elseif not text or not is_value(text) then
  state[1] = 'foreign'
  state[7], state[8], state[9], state[10], state[11] = 1, kind, ttl, 0, ''
elseif value then
  state[1] = 'write'
  state[7], state[8], state[9] = 1, metadata_of(value), ttl
  state[10], state[11] = is_left(value), since_of(value)
else
  state[1] = 'read'
  for i = 1, #leases, 2 do
    local rest = tonumber(leases[i + 1]) - now
    if rest > 0 then
      state[7] = state[7] + 1
      state[#state + 1], state[#state + 2] = metadata_of(leases[i]), rest
      state[#state + 1], state[#state + 2] = is_left(leases[i]), since_of(leases[i])
    end
  end
end

local waiters = {}
if redis.call('type', line).ok == 'zset' then
  waiters = redis.call('zrange', line, '0', '-1', 'withscores')
end
for i = 1, #waiters, 2 do
  local entry = entry_of(waiters[i]) -- a guard is none
  if entry.id then
    state[#state + 1], state[#state + 2] = entry.mode, metadata_of(entry.value)
    state[#state + 1], state[#state + 2] = tonumber(waiters[i + 1]), entry.till > now and 1 or 0
  end
end
return state
