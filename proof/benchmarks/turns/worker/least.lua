-- Gives a key to the next caller, or frees it: the least that a Release can do which hands its key on.
--
-- KEYS     the lock key
-- ARGV[1]  value of the holder
-- ARGV[2]  value of the next caller; empty if there is none
-- ARGV[3]  ttl, ms
--
-- Reply    1, or 0 if the holder does not have the key
if redis.call('get', KEYS[1]) ~= ARGV[1] then
  return 0
end
if ARGV[2] == '' then
  redis.call('del', KEYS[1])
else
  redis.call('set', KEYS[1], ARGV[2], 'px', ARGV[3])
end
return 1
