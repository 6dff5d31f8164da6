-- Writes a value and its fencing number, unless a greater number is there.
--
-- KEYS[1]  the key: a hash of the two fields `fence` (the number, in decimal) and `value`
-- ARGV[1]  the number, in decimal, below 2^53
-- ARGV[2]  the value
-- ARGV[3]  ttl, ms; '0': none
--
-- Reply    {1}: both are written; the key lives for ttl from now, or without one.
--          {0, number}: this greater number is there, in decimal. Nothing was changed.
--          {-1, type}: the key holds something else, of this type. Nothing was changed.

local key, number, value, ttl = KEYS[1], ARGV[1], ARGV[2], ARGV[3]

local MAX_NUMBER = 9007199254740991 -- greater ones are not exact

local kind = redis.call('type', key).ok
local held
if kind ~= 'none' then
  if kind ~= 'hash' or redis.call('hlen', key) ~= 2
    or redis.call('hexists', key, 'value') == 0 then
    return {-1, kind}
  end
  held = redis.call('hget', key, 'fence')
  if not held or #held > 16 or not string.find(held, '^[1-9]%d*$')
    or tonumber(held) > MAX_NUMBER then
    return {-1, kind}
  end
  if tonumber(held) > tonumber(number) then
    return {0, held}
  end
end

-- A script that fails stays half done. That there is memory and that every command is allowed is
-- proved beforehand, by commands that change nothing.
if held then
  redis.call('hset', key, 'fence', held)
else
  redis.call('set', key, '', 'xx')
end

if ttl ~= '0' then
  redis.call('pexpire', key, ttl)
elseif held then
  redis.call('persist', key)
end
redis.call('hset', key, 'fence', number, 'value', value)
if ttl ~= '0' then
  redis.call('pexpire', key, ttl)
end
return {1}
