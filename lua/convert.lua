-- Turns a held set into other modes, if every key is still the token's.
--
-- KEYS and ARGV  see head.lua; every key keeps what is stored. If the set is fenced, a token that
--          writes where it only read is given a new number
--
-- Reply    DONE, or {DONE, fencing number}: every key is held in its new mode, for ttl from now.
--          {REFUSED, index, mode, ttl, detail}: see refusal. Nothing was changed.
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
--#include entry.lua
--#include line.lua
--#include handover.lua

local token, set = token_of(value), set_of(n, letters, stamp, value)
local fenced, never_shorten = set.fences, letters ~= '' and string.find(letters, 'n')
set.now, set.micros = clock()
if overtaken(set) then
  return OVERTAKEN
end
close(set)

local modes, mine, kinds, leases = {}, {}, {}, {}
local lost, refused = {NOT_YOURS}, nil
set.seen = {}
for i = 1, n do
  modes[i] = i <= w and 'write' or 'read'
  local refusal_here, held, kind, rest = look(set, i, modes[i], token, value)
  if refusal_here and kind == 'zset' then
    held = reader(set, KEYS[i], token, value)
  end
  mine[i], kinds[i] = held, kind
  leases[i] = never_shorten and longer(ttl, rest) or ttl
  refused = refused or refusal_here
  if not held then
    lost[#lost + 1] = i
  end
end
if #lost > 1 then
  return lost
end
if refused then
  return refused
end

local after, foreign
if fenced then
  after, foreign = number_after(set, up_to(n), set.micros)
  if not after then
    return foreign
  end
end

-- The first write is a SET of a key that has to exist. If memory is short it fails and leaves
-- nothing, so no key has another mode than before.
if w > 0 then
  redis.call('set', KEYS[1], mine[1], 'px', ttl, 'xx')
end
with_lines(set)
local reads, shared, stronger = {}, {}, false
for i = w + 1, n do
  if kinds[i] == 'string' then
    redis.call('del', KEYS[i])
  end
  reads[i], shared[i] = true, kinds[i] ~= 'string'
  add_reader(set, i, mine[i], set.now + leases[i], not shared[i])
end
for i = 1, w do
  stronger = stronger or kinds[i] ~= 'string'
  set.written[i], set.held_for[i] = token, tonumber(leases[i])
  redis.call('set', KEYS[i], mine[i], 'px', leases[i])
end

local number
if fenced then
  number = not stronger and number_of_hold(set, w, kinds, token, ttl)
    or next_number(set, up_to(n), reads, shared, token, after, ttl)
end
if count(n + 1, 2 * n) > 0 then
  for i = 1, n do
    set.tell_first[i] = true -- the lease may end sooner now
  end
  hand_over(set)
end
return finished(set, fenced and {DONE, number} or DONE)
