-- Takes one free key, or says who holds it: the least that gives the reply of obtain.lua.
--
-- KEYS     the lock key
-- ARGV[1]  value: `token` or `token|metadata`
-- ARGV[2]  ttl, ms
--
-- Reply    1, or {0, 1, 'write', remaining ttl in ms, metadata of the holder}
local value = redis.call('get', KEYS[1])
if not value then
  redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2])
  return 1
end
return {0, 1, 'write', redis.call('pttl', KEYS[1]), string.match(value, '|(.*)') or ''}
