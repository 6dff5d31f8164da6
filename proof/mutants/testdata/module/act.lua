-- Sets a key.
local value = ARGV[1]
--#include values.lua

if value == '' then
  return 0
end
while size(value) < 10 do
  value = value .. '|'
end
redis.call('set', KEYS[1], value)
return {state = 'set', 1}
