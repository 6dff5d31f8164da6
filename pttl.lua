-- Tells the least remaining lease of a set.
--
-- KEYS     the n lock keys
-- ARGV     see head.lua; what is stored may have other metadata
--
-- Reply    {DONE, ms}: every key is the token's for that long, at least 1 ms; -1: for ever, because
--          somebody has made every key of the set persistent.
--          {NOT_YOURS, index}: this key is not the token's, nor may others be.

--#include head.lua
--#include keys.lua
--#include values.lua
--#include readers.lua

local token, least, held = token_of(value), -1, strings(n)
local set = {searches = letters ~= '' and string.find(letters, 's')}

for i = 1, n do
  local rest
  if not held[i] then
    set.now = set.now or clock()
    local member, score = reader(set, KEYS[i], token, value)
    rest = member and score - set.now
  elseif held[i] == value or token_of(held[i]) == token then
    rest = redis.call('pttl', KEYS[i])
  end
  if not rest then
    return {NOT_YOURS, i}
  end
  if rest >= 0 and (least < 0 or rest < least) then
    least = math.max(rest, 1)
  end
end
return {DONE, least}
