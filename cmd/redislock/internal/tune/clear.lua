-- Removes what one run of the command tune has left beside one key: locks, intents and waiters
-- whose value ends with a mark. What others have left stays.
--
-- KEYS     the lock key, its line, its intent
-- ARGV[1]  the mark, with the '|' before it
-- Reply    1

local mark = ARGV[1]
local lock, line, intent = KEYS[1], KEYS[2], KEYS[3]

local function ours(text)
  return string.sub(text, -#mark) == mark
end

local function kind(key)
  return redis.call('type', key).ok
end

for _, key in ipairs({ lock, intent }) do
  if kind(key) == 'string' and ours(redis.call('get', key)) then
    redis.call('del', key)
  end
end

-- Of a sorted set it removes the members that are ours, and says whether others have one. A member
-- without a '|' is a guard, or somebody's token without metadata.
local function take_out(key)
  local others = false
  for _, text in ipairs(redis.call('zrange', key, 0, -1)) do
    if ours(text) then
      redis.call('zrem', key, text)
    elseif string.find(text, '|', 1, true) then
      others = true
    end
  end
  return others
end

if kind(lock) == 'zset' then
  take_out(lock)
end
-- A line with nothing but guards goes as a whole if nobody has the key: the guards are against late
-- requests of processes that have ended.
if kind(line) == 'zset' and not take_out(line) and kind(lock) == 'none' then
  redis.call('del', line)
end
return 1
