-- Gives a hold a fencing number that was given elsewhere, if its own is smaller.
--
-- KEYS and ARGV  see head.lua, with the letter 'f'; what is stored may have other metadata;
--          without a stamp it does not ask for a guard
-- ARGV[5]  number
--
-- Reply    DONE: the number of the hold, and the greatest of each key, is this one or greater.
--          {NOT_YOURS, index, ...}: the keys that are not the token's. Nothing was changed.
--          OVERTAKEN: by a later request of its owner. Nothing was changed.
--          The error FOREIGNFENCE, see number_after. Nothing was changed.

--#include head.lua
--#include set.lua
--#include keys.lua
--#include values.lua
--#include readers.lua
--#include fence.lua
--#include guard.lua

local token, number, set = token_of(value), ARGV[5], set_of(n, letters, stamp, value)
set.now = clock()
if stamp ~= '' then
  if overtaken(set) then
    return OVERTAKEN
  end
  close(set)
end
local held, lost = strings(n), {NOT_YOURS}
for i = 1, n do
  local mine = held[i] and token_of(held[i]) == token
    or not held[i] and reader(set, KEYS[i], token, value)
  if not mine then
    lost[#lost + 1] = i
  end
end
if #lost > 1 then
  return lost
end

local after, foreign = number_after(set, up_to(n), 0)
if not after then
  return foreign
end

for i = 1, n do
  local hash, field, text = KEYS[set.fences + i], token, number
  redis.call('pexpire', hash, life_of_fence(ttl)) -- if one fails, it is this one
  if (set.before[i] or 0) < tonumber(number) then
    redis.call('hset', hash, '', number)
  end
  if held[i] then
    field, text = '|', number .. '|' .. token
  end
  local own, of = string.match(redis.call('hget', hash, field) or '0', '^(%d+)|?(.*)')
  if field == '|' and of ~= token or tonumber(own or 0) < tonumber(number) then
    redis.call('hset', hash, field, text)
  end
  redis.call('pexpire', hash, life_of_fence(ttl))
end
return DONE
