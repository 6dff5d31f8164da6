-- Does at once what many callers ask for at the same time, as far as it is plain: to take write
-- locks on free keys, and to release write locks that are as they were taken.
--
-- KEYS     the keys of the first caller's set, then those of the second, ...
-- ARGV     for each caller: how many keys; value; ttl, ms, or '0' to release. Those that take
--          come first: a script that has written is not refused for want of memory any more
--
-- Reply    {1 or 0, ...}, for each caller: 1: the whole set was taken or released. 0: nothing was
--          changed; the caller's own script has to do it, or to say why not.

local replies, last = {}, 0

local function released(first, value)
  local held = redis.call('mget', unpack(KEYS, first, last))
  for i = 1, #held do
    if held[i] ~= value then
      return 0
    end
  end
  redis.call('del', unpack(KEYS, first, last))
  return 1
end

-- As in obtain.lua: all that MSETNX and PEXPIRE need is proved before, by what does nothing.
local function taken(first, value, ttl)
  if redis.call('exists', unpack(KEYS, first, last)) > 0 then
    return 0
  end
  redis.call('set', KEYS[first], value, 'px', ttl, 'xx')
  redis.call('pexpire', KEYS[first], ttl)
  local pairs_of_set = {}
  for i = first, last do
    pairs_of_set[#pairs_of_set + 1] = KEYS[i]
    pairs_of_set[#pairs_of_set + 1] = value
  end
  redis.call('msetnx', unpack(pairs_of_set))
  for i = first, last do
    redis.call('pexpire', KEYS[i], ttl)
  end
  return 1
end

for a = 1, #ARGV, 3 do
  local value, ttl = ARGV[a + 1], ARGV[a + 2]
  local first = last + 1
  last = last + tonumber(ARGV[a])
  if ttl == '0' then
    replies[#replies + 1] = released(first, value)
  elseif first == last then
    replies[#replies + 1] = redis.call('set', KEYS[first], value, 'px', ttl, 'nx') and 1 or 0
  else
    replies[#replies + 1] = taken(first, value, ttl)
  end
end
return replies
