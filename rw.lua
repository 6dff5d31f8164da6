-- Takes a set of write and read locks, or none of them; or turns a held set into other modes.
--
-- KEYS     w write keys, r read keys; then r intent keys, those of the read keys; then, with an
--          ARGV[5] other than '', w intent keys, those of the write keys
-- ARGV[1]  value: `token` or `token|metadata`
-- ARGV[2]  ttl, ms
-- ARGV[3]  w
-- ARGV[4]  r
-- ARGV[5]  ttl of the caller's intents, ms; '0' if it will not ask again; '' without intents
-- ARGV[6]  '1': convert. Every key must be the token's already; it keeps its stored value
--
-- Reply    1: every key is held in its mode, for ttl from now. What the token held already, in
--          either mode, counts as free.
--          {0, index, mode, ttl, detail}: see refusal. No lock was changed.
--          {-1, index, ...}: convert only; the keys that are not the token's. Nothing was changed.

--#include shared.lua

local value, ttl, w, r = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local intent, convert = ARGV[5], ARGV[6] == '1'
local n, token, now = w + r, token_of(value), clock()

local mine, kinds, lost, refused = {}, {}, {-1}, nil
for i = 1, n do
  local mode = i <= w and 'write' or 'read'
  local refusal_here, held, kind = look(i, mode, token, value, now)
  -- Intents keep new readers out, but not one that declares intents itself: two such sets could
  -- keep each other out for ever.
  if mode == 'read' and not refusal_here and not held and intent == '' then
    local waiting = redis.call('get', KEYS[i + r])
    if waiting and token_of(waiting) ~= token then
      local left = redis.call('pttl', KEYS[i + r])
      refusal_here = refusal(i, 'intent', left, metadata_of(waiting))
    end
  end
  mine[i], kinds[i] = held, kind
  refused = refused or refusal_here
  if convert and not held then
    lost[#lost + 1] = i
  elseif refused and not convert then
    break
  end
end
if #lost > 1 then
  return lost
end
if refused then
  if intent ~= '' then
    declare(n + r + 1, n + r + w, value, intent, refused)
  end
  return refused
end

local function kept(i)
  return convert and mine[i] or value
end

-- The first write is one that may fail and leave nothing: a SET of a key that has to exist.
if w > 0 then
  redis.call('set', KEYS[1], kept(1), 'px', ttl, 'xx')
end
for i = w + 1, n do
  if kinds[i] == 'string' then
    redis.call('del', KEYS[i])
  elseif mine[i] and mine[i] ~= kept(i) then
    redis.call('zrem', KEYS[i], mine[i])
  end
  add_reader(KEYS[i], kept(i), now + ttl, now)
end
for i = 1, w do
  redis.call('set', KEYS[i], kept(i), 'px', ttl)
end

if intent ~= '' then
  withdraw(n + r + 1, n + r + w, token)
end
return 1
