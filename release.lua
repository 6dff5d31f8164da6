-- Frees every key of a set that is still the token's.
--
-- KEYS     the lock keys, or intent keys
-- ARGV[1]  value: `token` or `token|metadata`; what is stored may have other metadata
--
-- Reply    1: every key was the token's, and is free.
--          {0, index, ...}: the keys that were not the token's; the others are free.

-- One write-locked key: most of all calls, so it comes before what they would not use.
if #KEYS == 1 and redis.call('mget', KEYS[1])[1] == ARGV[1] then
  return redis.call('del', KEYS[1])
end

--#include shared.lua

local value = ARGV[1]
local token, now = token_of(value), nil
local held, doomed, lost = strings(#KEYS), {}, {0}

local function delete_doomed()
  if #doomed > 0 then
    redis.call('del', unpack(doomed))
    doomed = {}
  end
end

for i = 1, #KEYS do
  if held[i] and (held[i] == value or token_of(held[i]) == token) then
    doomed[#doomed + 1] = KEYS[i]
    if #doomed == CHUNK then
      delete_doomed()
    end
  elseif held[i] then
    lost[#lost + 1] = i
  else
    now = now or clock()
    local member = reader(KEYS[i], token, value, now)
    if member then
      redis.call('zrem', KEYS[i], member)
      expire_with_last_reader(KEYS[i])
    else
      lost[#lost + 1] = i
    end
  end
end
delete_doomed()

if #lost > 1 then
  return lost
end
return 1
