-- Frees every key of a set that is still the token's, and hands it over to those who wait.
--
-- KEYS     the lock keys, or intent keys; as many lines; if fenced as many fences; then lines in
--          which only guards are to be set
-- ARGV[1]  value: `token` or `token|metadata`; what is stored may have other metadata
-- ARGV[2]  stamp, see guard.lua; may be absent or '', as may all that follows
-- ARGV[3]  '1' if the stamp has guards to set
-- ARGV[4]  the channel of the caller: what is to be told there stands in the reply instead
-- ARGV[5]  '1': fenced
-- ARGV[6]  id of a waiter that gives up
-- ARGV[7]  its place, '?' if that is not known
-- ARGV[8]  ... indexes of keys that are not to be freed; `index|id` if only where a guard of this
--          id stands in the home line
--
-- Reply    DONE, or {DONE, message, ...}: every key was the token's, and is free.
--          {NOT_YOURS, index, ..., message, ...}: the keys that were not the token's, or were not
--          to be freed; the others are free.
--          A message 'open': the guards could not be set.
--          OVERTAKEN: by a later request of its owner. Nothing was changed.

-- Write-locked keys that nobody waits for: most of all calls, so this comes before what it would
-- not use. It saves 70 % of the server's time on Redis 7.0.15 and Valkey 8.0.1, of 8 keys 55 %:
-- see BenchmarkShortCuts, also for the figures below.
local stamped = ARGV[2] and ARGV[2] ~= ''
local n = stamped and tonumber(string.match(ARGV[2], '^%d+')) or #KEYS / 2
local plain = n <= CHUNK and ARGV[3] ~= '1' and ARGV[5] ~= '1' and not ARGV[6]

-- Frees the set if every key is as it was taken.
local function free_plain()
  local held = redis.call('mget', unpack(KEYS, 1, n))
  for i = 1, n do
    if held[i] ~= ARGV[1] then
      return false
    end
  end
  redis.call('del', unpack(KEYS, 1, n))
  return true
end

local has_line = plain and redis.call('exists', unpack(KEYS, n + 1, 2 * n)) > 0
if plain and not has_line and free_plain() then
  return DONE
end

--#include entry.lua
--#include guard.lua

-- Where only guards of others stand in the lines, this saves 65 %.
local nobody, front
if has_line then
  read_stamp(ARGV[2], ARGV[1], n, 1)
  nobody, front = only_guards(n + 1, 2 * n)
  if nobody and free_plain() then
    return DONE
  end
end

-- One write-locked key, and in front of its line one who wants to write it alone: the same as
-- below, without what it would not use, which saves 65 %.
if front and n == 1 and redis.call('mget', KEYS[1])[1] == ARGV[1]
  and not redis.pcall('zscore', KEYS[2], owner_id) then
  local key, line = KEYS[1], KEYS[2]
  local text, id, till, command, ttl, channel, at = front, string.match(front, LONE_WRITER)
  local time = redis.call('time')
  local ms = time[1] * 1000 + math.floor(time[2] / 1000)
  if id and tonumber(till) > ms and tonumber(ttl) >= ASKS_AGAIN then
    local value, heard = string.sub(text, at + channel), 1
    channel = string.sub(text, at, at + channel - 1)
    -- Whose process is gone is not granted the key, which nobody would free until its lease ends.
    if channel ~= ARGV[4] then
      heard = command == 's' and redis.pcall('spublish', channel, '')
        or redis.pcall('publish', channel, '')
    end
    if type(heard) == 'number' and heard > 0 then
      redis.call('zrem', line, text) -- before SET, which alone may be refused for want of memory
      redis.call('set', key, value, 'px', ttl)
      local message = string.format('g|%s|%s%06d|0', id, time[1], time[2])
      if channel == ARGV[4] then
        return {DONE, message}
      elseif command == 's' then
        redis.call('spublish', channel, message)
      else
        redis.call('publish', channel, message)
      end
      return DONE
    end
  end
end

--#include values.lua
--#include fence.lua
--#include line.lua

local value, id, place = ARGV[1], ARGV[6] or '', tonumber(ARGV[7] or '')
local token, now, micros = token_of(value), clock()
caller, fenced = ARGV[4], ARGV[5] == '1'
size = read_stamp(ARGV[2], value, #KEYS / (fenced and 3 or 2), 1)
has_line = ARGV[3] == '1' or anybody_waits()
local closed = true
if has_line then
  -- A user without the rights that guards need frees what is to be freed all the same: if the
  -- release failed instead, the keys would stay locked until their leases end.
  local known, late = pcall(overtaken, now)
  if known and late then
    return OVERTAKEN
  end
  closed = pcall(close, now)
end

local held, everywhere, to_delete, lost, spared = strings(size), {}, {}, {NOT_YOURS}, {}
for a = 8, #ARGV do
  local index, mark = string.match(ARGV[a], '^(%d+)|?(.*)')
  index = tonumber(index)
  spared[index] = spared[index] or mark == '' or redis.call('zscore', home_line, mark) ~= false
end

local function delete_now()
  if #to_delete > 0 then
    redis.call('del', unpack(to_delete))
    to_delete = {}
  end
end

for i = 1, size do
  everywhere[i] = i
  if spared[i] then
    lost[#lost + 1] = i
  elseif held[i] and (held[i] == value or token_of(held[i]) == token) then
    to_delete[#to_delete + 1] = KEYS[i]
    if #to_delete == CHUNK then
      delete_now()
    end
  elseif held[i] then
    lost[#lost + 1] = i
  else
    local member = reader(KEYS[i], token, value, now)
    if member then
      redis.call('zrem', KEYS[i], member)
      expire_with_last_reader(KEYS[i])
      tell_first[i] = has_line or nil -- the last lease may end sooner now
    else
      lost[#lost + 1] = i
    end
  end
end
delete_now()

if fenced and not ARGV[8] then
  forget_numbers(2 * size, everywhere, token)
end
if has_line then
  local same = {}
  for i = 1, id ~= '' and size or 0 do
    local mode = leave_line(i, id, place)
    tell_first[i] = tell_first[i] or mode and true
    -- Nobody but a writer can have waited for a reader that gives up.
    local first = mode == 'read' and #lost > size and in_line(i, 0, 0)[1]
    same[i] = first and entry_of(first).mode == 'read'
  end
  hand_over(now, micros, same)
end

local reply = #lost > 1 and lost or {DONE}
for _, message in ipairs(told) do
  reply[#reply + 1] = message
end
if not closed then
  reply[#reply + 1] = 'open'
end
return #reply > 1 and reply or DONE
