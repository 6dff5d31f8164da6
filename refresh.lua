-- Extends the leases of a whole set, if every key is still the token's.
--
-- KEYS and ARGV  see head.lua; what is stored may have other metadata. With the letter 'n' a lease
--          that runs longer than ttl is left as it is, so that a late request never shortens what a
--          later one has given. Then there are no lines, but with a stamp there is the home line,
--          and without a stamp it does not ask for a guard
--
-- Reply    DONE: every key is held for ttl from now.
--          {NOT_YOURS, index, ...}: the keys that are not the token's. Nothing was changed.
--          OVERTAKEN: by a later request of its owner. Nothing was changed.

--#include head.lua
--#include set.lua
--#include keys.lua
--#include values.lua
--#include readers.lua
--#include fence.lua
--#include guard.lua
--#include entry.lua
--#include line.lua
--#include handover.lua

local never_shorten = letters ~= '' and string.find(letters, 'n')
local token, set = token_of(value), set_of(n, letters, stamp, value)
if stamp ~= '' or not never_shorten then
  set.now, set.micros = clock()
  if overtaken(set) then
    return OVERTAKEN
  end
  close(set)
end
local held, reads, lost = strings(n), {}, {NOT_YOURS}
local has_line = not never_shorten and count(n + 1, 2 * n) > 0

for i = 1, n do
  if not held[i] then
    set.now = set.now or clock()
    local member, score = reader(set, KEYS[i], token, value)
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

for i = 1, n do
  local read = reads[i]
  if read then
    local score = set.now + ttl
    if never_shorten then
      score = math.max(score, read[2])
    end
    extend_reader(KEYS[i], read[1], score)
  else
    -- Even if nothing changes: WAIT is about what was written.
    local lease = never_shorten and longer(ttl, redis.call('pttl', KEYS[i])) or ttl
    if held[i] == value .. '?' then -- a candidate was elected, see inctx.Pending
      -- If memory is short it fails, and the lease is renewed all the same.
      redis.pcall('set', KEYS[i], value, 'px', lease)
    end
    redis.call('pexpire', KEYS[i], lease)
  end
end
if not has_line then
  return DONE
end

-- The first waiters were told when the leases would be over; some end sooner now.
with_lines(set)
local same = {}
for i = 1, n do
  same[i], set.tell_first[i] = true, true
end
hand_over(set, same)
return finished(set, DONE)
