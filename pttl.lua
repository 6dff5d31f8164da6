-- Tells the least remaining lease of a set.
--
-- KEYS     the lock keys
-- ARGV[1]  value: `token` or `token|metadata`; what is stored may have other metadata
-- ARGV[2]  's': see `searches` in readers.lua; else absent
--
-- Reply    {DONE, ms}: every key is the token's for that long, at least 1 ms; -1: for ever, because
--          somebody has made every key of the set persistent.
--          {NOT_YOURS, index}: this key is not the token's, nor may others be.

--#include common.lua
--#include values.lua
--#include readers.lua

local value = ARGV[1]
local token, least = token_of(value), -1
local set = {searches = ARGV[2] == 's'}
local held = strings(#KEYS)

for i = 1, #KEYS do
  local left
  if not held[i] then
    set.now = set.now or clock()
    local member, score = reader(set, KEYS[i], token, value)
    left = member and score - set.now
  elseif held[i] == value or token_of(held[i]) == token then
    left = redis.call('pttl', KEYS[i])
  end
  if not left then
    return {NOT_YOURS, i}
  end
  if left >= 0 and (least < 0 or left < least) then
    least = math.max(left, 1)
  end
end
return {DONE, least}
