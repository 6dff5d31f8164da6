-- Takes a set of keys from their holders, and hands it over to the next in line.
--
-- KEYS and ARGV  see head.lua, with the letter 'f'; the token belongs to this request alone, and
--          holds nothing
-- ARGV[5]  the channel for clients that listen for Breaks
-- ARGV[6]  what is published there, or nothing
--
-- Reply    DONE, or {DONE, (index, mode, metadata, ttl, left, since) ...}: every key is free, or
--          has been handed over. One group of six for each owner that has lost a key: mode 'write'
--          or 'read', ms that were left of its lease, 1 if it had left the key, else 0, and when
--          its token was made, see since_of.
--          {REFUSED, index, 'foreign', ttl, type}: this key is no lock. Nothing was changed.
--          OVERTAKEN: an earlier try of this request was executed. Nothing was changed.

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

local set = set_of(n, letters, stamp, value)
set.now, set.micros = clock()
if overtaken(set) then
  return OVERTAKEN
end
close(set)

local SAME_END = 1000 -- ms: more than a script takes
local held, to_delete, tokens, reply = strings(n), {}, {}, {DONE}

-- Takes note of an owner that loses KEYS[i].
local function note(i, mode, its_value, rest)
  local k = #reply
  reply[k + 1], reply[k + 2], reply[k + 3] = i, mode, metadata_of(its_value)
  reply[k + 4], reply[k + 5], reply[k + 6] = rest, is_left(its_value), since_of(its_value)
  if token_of(its_value) ~= '' then
    tokens[i][#tokens[i] + 1] = token_of(its_value)
  end
end

-- Reports whether a sorted set that ends in `ttl` ends with the last of its members, as a set of
-- readers does.
local function ends_with_the_last(readers, ttl)
  local last = tonumber(readers[#readers]) or 0
  return math.abs(last - set.now - ttl) < SAME_END
end

-- Looks at everything before it changes anything. It tells what is a lock as `look` does.
for i = 1, n do
  local key = KEYS[i]
  local kind = held[i] and 'string' or redis.call('type', key).ok
  local rest = kind == 'none' and -2 or redis.call('pttl', key)
  local readers = kind == 'zset' and redis.call('zrange', key, '0', '-1', 'withscores')
  local text = held[i] or readers and readers[#readers - 1]
  local ours = text and is_value(text)
    and (held[i] or ends_with_the_last(readers, rest))
  if rest == -1 or rest >= 0 and not ours then
    return refusal(i, 'foreign', rest, kind)
  end
  if rest >= 0 then
    to_delete[#to_delete + 1], tokens[i] = key, {}
  end
  if rest >= 0 and held[i] then
    note(i, 'write', held[i], rest)
  elseif rest >= 0 then
    for r = 1, #readers, 2 do
      local its = tonumber(readers[r + 1]) - set.now
      if its > 0 then
        note(i, 'read', readers[r], its)
      end
    end
  end
end

-- No other try of this request may do anything after this one, even if nobody waits for its answer
-- any more, or the Redis client sends it twice: it would take the keys from their next owner. A
-- user that may not set guards breaks nothing.
local has_line, has_fence = count(n + 1, 2 * n) > 0, count(2 * n + 1, 3 * n) > 0
set_guard(set.home, set.owner, NUMBERS - 1, set.now)
delete(to_delete, #to_delete)

with_lines(set)
for i = 1, n do
  set.free[i], set.tell_first[i] = tokens[i] and true, tokens[i] and has_line or nil
  for t, token in ipairs(has_fence and tokens[i] or {}) do
    forget_number(KEYS[2 * n + i], token, t == 1)
  end
end
if #reply > 1 then
  publish('', ARGV[5], ARGV[6])
end
if has_line then
  hand_over(set)
end
return finished(set, #reply > 1 and reply or DONE)
