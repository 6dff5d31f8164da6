-- Takes the write locks of a whole set of keys, or none.
--
-- KEYS     the lock keys; with ARGV[3], as many intent keys behind them, in the same order
-- ARGV[1]  value: `token` or `token|metadata`
-- ARGV[2]  ttl, ms
-- ARGV[3]  ttl of the caller's intents, ms; '0' if it will not ask again; absent without intents
--
-- Reply    1: every key is held, for ttl from now. A key that the token held already counts as
--          free, so the same call may come twice, and a set may grow, shrink or change its
--          metadata under its token.
--          {0, index, mode, ttl, detail}: see refusal. No lock was changed.

-- One free key: SET NX PX is its MSETNX and its PEXPIRE. This is most of all calls, so it comes
-- before what they would not use.
if #KEYS == 1 and redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2], 'nx') then
  return 1
end

--#include shared.lua

local value, ttl, intent = ARGV[1], ARGV[2], ARGV[3]
local n = intent and #KEYS / 2 or #KEYS

-- MSETNX of the whole set, then every key its TTL. MSETNX cannot be undone: that there is memory,
-- that PEXPIRE is allowed and the ttl in its range is proved beforehand, by commands that do
-- nothing to a key that does not exist.
local function take_free()
  for first = 1, n, CHUNK do
    if redis.call('exists', unpack(KEYS, first, math.min(first + CHUNK - 1, n))) > 0 then
      return false
    end
  end
  redis.call('set', KEYS[1], value, 'px', ttl, 'xx')
  redis.call('pexpire', KEYS[1], ttl)
  for first = 1, n, CHUNK do
    local pairs_of_chunk = {}
    for i = first, math.min(first + CHUNK - 1, n) do
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

if not take_free() then
  local token, now = token_of(value), clock()
  for i = 1, n do
    local refused = look(i, 'write', token, value, now)
    if refused then
      if intent then
        declare(n + 1, 2 * n, value, intent, refused)
      end
      return refused
    end
  end
  for i = 1, n do
    redis.call('set', KEYS[i], value, 'px', ttl)
  end
end

if intent then
  withdraw(n + 1, 2 * n, token_of(value))
end
return 1
