-- Extends the leases of a whole set, if every key is still the token's.
--
-- KEYS     n lock keys; unless there is an ARGV[5] n lines, else with a stamp the home line; then
--          lines in which only guards are to be set
-- ARGV[1]  value: `token` or `token|metadata`; what is stored may have other metadata
-- ARGV[2]  ttl, ms
-- ARGV[3]  stamp, see guard.lua; '' if there is none: then nobody asks for a guard, if there is an
--          ARGV[5]
-- ARGV[4]  letters: '1' the stamp has guards to set; 's' see `searches` in readers.lua
-- ARGV[5]  '1': a lease that runs longer than ttl is left as it is, so that a late request
--          never shortens what a later one has given
--
-- Reply    DONE: every key is held for ttl from now.
--          {NOT_YOURS, index, ...}: the keys that are not the token's. Nothing was changed.
--          OVERTAKEN: by a later request of its owner. Nothing was changed.

--#include common.lua
--#include values.lua
--#include readers.lua
--#include guard.lua

local value, ttl, never_shorten = ARGV[1], tonumber(ARGV[2]), ARGV[5] == '1'
local token, n = token_of(value), never_shorten and #KEYS or #KEYS / 2
local set = stamped(ARGV[3], value, n, 1)
set.searches = string.find(ARGV[4], 's', 1, true) ~= nil
if ARGV[3] ~= '' or not never_shorten then
  n = set.n
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
    -- Also if nothing changes: WAIT is about what was written.
    local lease = never_shorten and math.max(ttl, redis.call('pttl', KEYS[i])) or ttl
    lease = string.format('%d', lease)
    if held[i] == value .. '?' then -- a candidate was elected, see inctx.Pending
      -- Without memory it fails, and the lease is renewed all the same.
      redis.pcall('set', KEYS[i], value, 'px', lease)
    end
    redis.call('pexpire', KEYS[i], lease)
  end
end
if not has_line then
  return DONE
end

--#include fence.lua
--#include entry.lua
--#include line.lua
--#include handover.lua

-- Who waits was told when the leases would be over that end sooner now.
with_lines(set)
local same = {}
for i = 1, n do
  same[i], set.tell_first[i] = true, true
end
hand_over(set, same)
return and_more(set, DONE)
