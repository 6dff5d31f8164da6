-- Does at once what many callers ask for at the same time, as far as it is plain: to take write
-- locks on free keys, and to release write locks that are as they were taken.
--
-- KEYS     the keys of the first caller's set, then those of the second, ...; then as many lines
-- ARGV     for each caller: how many keys; value; ttl, ms, or '0' to release. Those that take
--          come first: a script that has written is not refused for want of memory any more
--
-- Reply    {1 or 0, ...}, for each caller: 1: the whole set was taken or released. 0: nothing was
--          changed; the caller's own script has to do it, or to say why not.

local call, keys, args = redis.call, KEYS, ARGV -- locals: this is where most of the work is done

local size = #keys / 2
local lined = call('exists', unpack(keys, size + 1)) > 0 -- most often nobody waits for any of them

local function waited_for(first, last)
  return lined and call('exists', unpack(keys, size + first, size + last)) > 0
end

local function released(first, last, value)
  if waited_for(first, last) then
    return 0
  end
  if first == last then
    return call('mget', keys[first])[1] == value and call('del', keys[first]) or 0
  end
  local held = call('mget', unpack(keys, first, last))
  for i = 1, #held do
    if held[i] ~= value then
      return 0
    end
  end
  call('del', unpack(keys, first, last))
  return 1
end

-- As in obtain.lua: all that MSETNX and PEXPIRE need is proved before, by what does nothing.
local function taken(first, last, value, ttl)
  if waited_for(first, last) then
    return 0
  end
  if first == last then
    return call('set', keys[first], value, 'px', ttl, 'nx') and 1 or 0
  end
  if call('exists', unpack(keys, first, last)) > 0 then
    return 0
  end
  call('set', keys[first], value, 'px', ttl, 'xx')
  call('pexpire', keys[first], ttl)
  local pairs_of_set = {}
  for i = first, last do
    pairs_of_set[#pairs_of_set + 1] = keys[i]
    pairs_of_set[#pairs_of_set + 1] = value
  end
  call('msetnx', unpack(pairs_of_set))
  for i = first, last do
    call('pexpire', keys[i], ttl)
  end
  return 1
end

local replies, last = {}, 0
for a = 1, #args, 3 do
  local first, value, ttl = last + 1, args[a + 1], args[a + 2]
  last = last + args[a]
  if ttl == '0' then
    replies[(a + 2) / 3] = released(first, last, value)
  else
    replies[(a + 2) / 3] = taken(first, last, value, ttl)
  end
end
return replies
