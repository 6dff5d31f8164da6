-- Takes the write locks of a whole set of keys, or none.
--
-- KEYS     the lock keys; as many lines; with ARGV[3] as many intent keys; all in the same order
-- ARGV[1]  value: `token` or `token|metadata`
-- ARGV[2]  ttl, ms
-- ARGV[3]  ttl of the caller's intents, ms; '0' if it will not ask again; absent without intents
--
-- Reply    1: every key is held, for ttl from now. A key that the token held already counts as
--          free, so the same call may come twice, and a set may grow, shrink or change its
--          metadata under its token.
--          {0, index, mode, ttl, detail}: see refusal. No lock was changed.

-- One free key, and no line: SET NX PX is its MSETNX and its PEXPIRE. This is most of all calls,
-- so it comes before what they would not use.
if #KEYS == 2 and redis.call('exists', KEYS[2]) == 0
  and redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2], 'nx') then
  return 1
end

local value, ttl, intent = ARGV[1], ARGV[2], ARGV[3]
local n = #KEYS / (intent and 3 or 2)
local PART = 1000 -- most keys that one command is given

-- MSETNX of the whole set, then every key its TTL. MSETNX cannot be undone: that there is memory,
-- that PEXPIRE is allowed and the ttl in its range is proved beforehand, by commands that do
-- nothing to a key that does not exist.
local function take_free()
  for first = 1, 2 * n, PART do -- with the lines
    if redis.call('exists', unpack(KEYS, first, math.min(first + PART - 1, 2 * n))) > 0 then
      return false
    end
  end
  redis.call('set', KEYS[1], value, 'px', ttl, 'xx')
  redis.call('pexpire', KEYS[1], ttl)
  for first = 1, n, PART do
    local pairs_of_chunk = {}
    for i = first, math.min(first + PART - 1, n) do
      pairs_of_chunk[#pairs_of_chunk + 1] = KEYS[i]
      pairs_of_chunk[#pairs_of_chunk + 1] = value
    end
    redis.call('msetnx', unpack(pairs_of_chunk))
  end
  for i = 1, n do
    redis.call('pexpire', KEYS[i], ttl)
  end
  return true
end

local taken = take_free()
if taken and not intent then
  return 1
end

--#include shared.lua
--#include fence.lua
--#include entry.lua
--#include line.lua

size = n
if not taken then
  local token, now, micros = token_of(value), clock()
  local lined = anybody_waits()
  for i = 1, n do
    local refused, held = look(i, 'write', token, value, now)
    if lined and not refused and not held then
      local waiter = waiter_before(i, 'write', token, nil, now)
      refused = waiter and refusal_by_waiter(i, waiter, now)
    end
    if refused then
      if intent then
        declare(2 * n + 1, 3 * n, value, intent, refused)
      end
      if dropped then
        hand_over(now, micros)
      end
      return refused
    end
  end
  for i = 1, n do
    redis.call('set', KEYS[i], value, 'px', ttl)
  end
  if dropped then
    hand_over(now, micros)
  end
end

if intent then
  withdraw(2 * n + 1, 3 * n, token_of(value))
end
return 1
