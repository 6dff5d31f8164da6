-- Tells whether a sorted set can be that of the readers of a key, without sending more of it than
-- some bytes.
--
-- KEYS[1]  the sorted set
-- ARGV[1]  how many bytes of a member are wanted
--
-- Reply    the first bytes of the member with the greatest score; '' if the key does not end at
--          that moment, as every read-locked key does, or is no sorted set

local last = redis.pcall('zrange', KEYS[1], -1, -1, 'withscores')
if last.err or #last == 0 then
  return ''
end
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local off = tonumber(last[2]) - now - redis.call('pttl', KEYS[1])
if not (off > -1000 and off < 1000) then -- the clock of some servers goes on meanwhile
  return ''
end
return string.sub(last[1], 1, tonumber(ARGV[1]))
