-- Extends the leases of a whole set, if every key is still the token's.
--
-- KEYS     the lock keys
-- ARGV[1]  value: `token` or `token|metadata`; what is stored may have other metadata
-- ARGV[2]  ttl, ms
-- ARGV[3]  '1': a lease that runs longer than ttl is left as it is, so that a late request
--          never shortens what a later one has given
--
-- Reply    1: every key is held for ttl from now.
--          {0, index, ...}: the keys that are not the token's. Nothing was changed.

--#include shared.lua

local value, ttl, never_shorten = ARGV[1], tonumber(ARGV[2]), ARGV[3] == '1'
local token, now = token_of(value), nil
local held, reads, lost = strings(#KEYS), {}, {0}

for i = 1, #KEYS do
  if not held[i] then
    now = now or clock()
    local member, score = reader(KEYS[i], token, value, now)
    if member then
      reads[i] = {member, score}
    else
      lost[#lost + 1] = i
    end
  elseif held[i] ~= value and token_of(held[i]) ~= token then
    lost[#lost + 1] = i
  end
end
if #lost > 1 then
  return lost
end

for i = 1, #KEYS do
  local read = reads[i]
  if read then
    local score = now + ttl
    if never_shorten then
      score = math.max(score, read[2])
    end
    add_reader(KEYS[i], read[1], score, now)
  else
    -- Also if nothing changes: WAIT is about what was written.
    local lease = never_shorten and math.max(ttl, redis.call('pttl', KEYS[i])) or ttl
    redis.call('pexpire', KEYS[i], string.format('%d', lease))
  end
end
return 1
