-- Frees every key of a set that is still the token's, and hands it over to those who wait. Or it
-- leaves the keys taken, for some time more.
--
-- KEYS     the lock keys, or intent keys; as many lines; if fenced as many fences; then lines in
--          which only guards are to be set
-- ARGV[1]  value: `token` or `token|metadata`; what is stored may have other metadata
-- ARGV[2]  stamp, see guard.lua; may be absent or '', as may all that follows
-- ARGV[3]  letters: '1' the stamp has guards to set; 's' see `searches` in readers.lua
-- ARGV[4]  the channel of the caller: what is to be told there stands in the reply instead
-- ARGV[5]  '1': fenced
-- ARGV[6]  id of a waiter that gives up
-- ARGV[7]  its place, '?' if that is not known
-- ARGV[8]  for how long the keys are to be left taken, ms; absent or '' if they are to be free
-- ARGV[9]  ... indexes of keys that are not to be freed; `index|id` if only where a guard of this
--          id stands in the home line
--
-- Reply    DONE, or {DONE, message, ...}: every key was the token's, and is free, or left.
--          {NOT_YOURS, index, ..., message, ...}: the keys that were not the token's, or were not
--          to be freed; the others are free, or left.
--          A message 'open': the guards could not be set. 'more', the last of all, in the reply of
--          each script that has lines: see MOST_GONE in line.lua.
--          OVERTAKEN: by a later request of its owner. Nothing was changed.

local has_stamp = ARGV[2] and ARGV[2] ~= ''
local with_numbers = ARGV[5] == '1'
local n = has_stamp and tonumber(string.match(ARGV[2], '^%d+')) or #KEYS / (with_numbers and 3 or 2)
local closes = ARGV[3] and string.find(ARGV[3], '1', 1, true)
local plain = not closes and not ARGV[6]

--#include common.lua

local held -- the strings at the keys, if it has them all
local whole, has_line -- the set is write-locked as it was taken; somebody waits, or guards stand
local front -- the first entry of the first line, with its score where that is needed
local unheard, now, micros

-- A write-locked key that nobody waits for, or one who wants to write just that: most of all calls.
-- The same as below, without what it would not use, and before functions are made that it does not
-- need: it saves 75 % of the server's time on Redis 7.0.15 and Valkey 8.0.1: see
-- BenchmarkShortCuts, also for the figures below.
if n == 1 and plain and not with_numbers then
  local its = redis.pcall('get', KEYS[1])
  whole = its == ARGV[1]
  if type(its) ~= 'table' or string.sub(its.err, 1, 9) == 'WRONGTYPE' then
    held = {type(its) == 'string' and its}
  end
  front = redis.pcall('zrange', KEYS[2], '0', '0')
  has_line = front[1] ~= nil or front.err and redis.call('exists', KEYS[2]) > 0
  if whole and not has_line then
    redis.call('del', KEYS[1])
    return DONE
  end
  local text = whole and front[1] or ''
  local id, till, mode, how, number, _, its_ttl, keys, channel, _, at = parts_of(text)
  local owner = has_stamp and string.match(ARGV[2], '^%d+|([^|]+)') or token_of(ARGV[1])
  if mode == 'w' and keys == '1' and number == '-' and tonumber(its_ttl) >= ASKS_AGAIN
    and not redis.pcall('zscore', KEYS[2], owner) then
    now, micros = clock()
    local value, heard = string.sub(text, at + channel), 1
    channel = string.sub(text, at, at + channel - 1)
    -- Whose process is gone is not granted the key, which nobody would free until its lease ends.
    if channel ~= ARGV[4] and tonumber(till) > now then
      heard = publish(how, channel, '')
      unheard = heard == 0 and id or nil
    end
    if tonumber(till) > now and heard and heard > 0 then
      redis.call('zrem', KEYS[2], text)
      redis.call('set', KEYS[1], value, 'px', its_ttl)
      local message = string.format('g|%s|%d|0', id, micros)
      if channel == ARGV[4] then
        return {DONE, message}
      end
      publish(how, channel, message)
      return DONE
    end
  end
end

-- Reports whether the whole set is write-locked as it was taken.
local function is_whole()
  for first = 1, n, CHUNK do
    local part = redis.call('mget', unpack(KEYS, first, math.min(first + CHUNK - 1, n)))
    held = n <= CHUNK and part or nil
    for i = 1, #part do
      if part[i] ~= ARGV[1] then
        return false
      end
    end
  end
  return true
end

-- Forgets the numbers of a hold of such a set. What is no hash is left alone.
local function forget_numbers()
  for i = 2 * n + 1, with_numbers and 3 * n or 0 do
    redis.pcall('hdel', KEYS[i], string.match(ARGV[1], '^[^|]*'), '|')
  end
end

-- Frees such a set.
local function free_whole()
  for first = 1, n, CHUNK do
    redis.call('del', unpack(KEYS, first, math.min(first + CHUNK - 1, n)))
  end
  forget_numbers()
  return DONE
end

-- Write-locked keys that nobody waits for: most of what is left, so this comes before what it would
-- not use. Of 8 keys it saves 65 %.
if plain and not held then
  whole = is_whole()
end
if plain and n == 1 and has_line == nil then -- it is fenced
  front = redis.pcall('zrange', KEYS[2], '0', '1', 'withscores')
  has_line = front[1] ~= nil or front.err and redis.call('exists', KEYS[2]) > 0
elseif plain and has_line == nil then
  local lines = 0
  for first = n + 1, 2 * n, CHUNK do
    lines = lines + redis.call('exists', unpack(KEYS, first, math.min(first + CHUNK - 1, 2 * n)))
  end
  has_line = lines > 0
end
if whole and not has_line then
  return free_whole()
end

--#include values.lua
--#include entry.lua
--#include guard.lua
--#include fence.lua

-- What an entry of one who wants to write the whole set names, see entry.lua.
local function names_of_set()
  local names = {}
  for i = 1, n > 1 and n or 0 do
    names[i] = 'w' .. #KEYS[i] .. ':' .. KEYS[i]
  end
  return table.concat(names)
end

-- Takes a waiter out of all lines, if it stands first in each: in the first line, where it does, as
-- `front` says, and with `text` in the others. Else it changes nothing.
local function leave_as_first(text)
  for i = 2, n do
    local first = redis.pcall('zpopmin', KEYS[n + i])
    if first[1] ~= text or first[2] ~= front[2] then
      if first[1] then
        put_first(KEYS[n + i], first[1], first[2])
      end
      for j = 2, i - 1 do
        put_first(KEYS[n + j], text, front[2])
      end
      return false
    end
  end
  redis.call('zrem', KEYS[n + 1], front[1])
  return true
end

-- Ends the numbers of the hold that is released, and gives the next one its own.
local function give_number(set, token, number, ttl)
  if number > 0 then
    next_number(set, up_to(n), {}, {}, token, number, ttl)
  else
    forget_numbers()
  end
end

-- Gives the whole set to the waiter that is the first in the first line, if it wants to write just
-- that, and is the first in every line. Returns the reply, nil if it is not so.
local function grant_whole(set)
  local id, till, mode, how, number, _, ttl, keys, channel, names, at = parts_of(front[1])
  if mode ~= 'w' or tonumber(keys) ~= n or tonumber(ttl) < ASKS_AGAIN
    or number == 'f' and not with_numbers or redis.pcall('zscore', set.home, set.owner) then
    return nil
  end
  now, micros = clock()
  set.now, set.micros = now, micros
  local value = string.sub(front[1], at + channel + names)
  if tonumber(till) <= now
    or string.sub(front[1], at + channel, at + channel + names - 1) ~= names_of_set() then
    return nil
  end
  -- Whose process is gone is not granted the keys, which nobody would free until its lease ends.
  channel = string.sub(front[1], at, at + channel - 1)
  local heard = 1
  if channel ~= ARGV[4] then
    heard = publish(how, channel, '')
    unheard = heard == 0 and id or nil
  end
  if not heard or heard == 0 then
    return nil
  end

  local given = number == 'f' and number_after(set, up_to(n), micros) or 0
  local text = entry_text(id, till, 'w', how .. number .. '-', ttl, keys, channel, KEYS[1], value)
  if number == 'f' and given == 0 or not leave_as_first(text) then
    return nil
  end
  for i = 1, n do
    redis.call('set', KEYS[i], value, 'px', ttl)
  end
  give_number(set, string.match(value, '^[^|]*'), given, ttl)
  local message = string.format('g|%s|%d|%d', id, micros, given)
  if channel == ARGV[4] then
    return {DONE, message}
  end
  publish(how, channel, message)
  return DONE
end

-- A whole write-locked set, and in front of all its lines one who wants to write just that: most of
-- those who wait. It is the same as below, without what it would not use, which saves 50 % of 8
-- keys. ZPOPMIN takes an entry out of a line and tells that it was the first: so the waiter is
-- taken out of all its lines, to be put back if that was wrong.
local set = stamped(ARGV[2], ARGV[1], n, 1)
set.fences = with_numbers and 2 * n or nil
if whole and (n > 1 or with_numbers) then
  front = front or redis.pcall('zrange', KEYS[n + 1], '0', '1', 'withscores')
  local reply = front[1] and grant_whole(set)
  if reply then
    return reply
  end
end

-- Where only guards of others stand in the lines, this saves 45 %.
if has_line and whole and not (front[1] and parts_of(front[1])) and only_guards(set) then
  return free_whole()
end

--#include readers.lua
--#include line.lua
--#include handover.lua

local value, id, place = ARGV[1], ARGV[6] or '', tonumber(ARGV[7] or '')
local token, keep = token_of(value), tonumber(ARGV[8] or '')
local asked = now ~= nil -- for a guard of the owner, and there was none
if not asked then
  now, micros = clock()
end
with_lines(set)
set.now, set.micros = now, micros
set.caller, set.unheard, set.fronts[1] = ARGV[4], unheard, front and front[2] and front or nil
set.searches = ARGV[3] ~= nil and string.find(ARGV[3], 's', 1, true) ~= nil
if has_line == nil then
  has_line = closes or count(n + 1, 2 * n) > 0
end
local closed = true
if has_line then
  -- A user without the rights that guards need frees what is to be freed all the same: if the
  -- release failed instead, the keys would stay locked until their leases end.
  local known, late = true, false
  if not asked then
    known, late = pcall(overtaken, set)
  end
  if known and late then
    return OVERTAKEN
  end
  closed = pcall(close, set)
end

held = held or strings(n)
local to_delete, wrote, lost, spared = {}, {}, {NOT_YOURS}, {}
for a = 9, #ARGV do
  local index, mark = string.match(ARGV[a], '^(%d+)|?(.*)')
  index = tonumber(index)
  spared[index] = spared[index] or mark == '' or redis.call('zscore', set.home, mark) ~= false
end

-- Leaves KEYS[i] taken by nobody, in the mode in which it is held by `last`: see values.lua. Where
-- others read the key, what they hold does not end sooner. The first command frees memory, or needs
-- none, so the others are not refused for want of it.
local function leave(i, last, lease)
  local left = left_value(last)
  set.tell_first[i] = has_line or nil
  if held[i] then
    redis.call('pexpire', KEYS[i], ARGV[8])
    redis.call('set', KEYS[i], left, 'px', ARGV[8])
    set.written[i], set.held_for[i] = '', keep
    return
  end
  if lease == 'alone' then
    redis.call('del', KEYS[i])
  end
  local till = lease == 'shared' and tonumber(redis.call('zscore', KEYS[i], left) or 0) or 0
  add_reader(set, i, left, math.max(till, set.now + keep), lease == 'alone')
end

for i = 1, n do
  local lease, last
  if spared[i] then
    lease = nil
  elseif held[i] then
    lease, last = (held[i] == value or token_of(held[i]) == token) and 'alone', held[i]
  else
    lease, last = end_lease(set, KEYS[i], token, value)
    set.tell_first[i] = has_line and lease or nil -- the last lease may end sooner now
  end
  wrote[i] = lease and held[i]
  if lease and keep then
    leave(i, last, lease)
  elseif lease == 'alone' then
    to_delete[#to_delete + 1], set.free[i] = KEYS[i], true
  elseif not lease then
    lost[#lost + 1] = i
  end
end
delete(to_delete)

if has_line then
  local same = {}
  for i = 1, id ~= '' and n or 0 do
    local mode = leave_line(set, i, id, place)
    set.tell_first[i] = set.tell_first[i] or mode and true
    -- Nobody but a writer can have waited for a reader that gives up.
    local first = mode == 'read' and #lost > n and in_line(set, i, '0', '0')[1]
    same[i] = first and entry_of(first).mode == 'read'
  end
  hand_over(set, same)
end
for i = 1, with_numbers and not ARGV[9] and n or 0 do
  if not set.numbered[i] then
    forget_number(KEYS[2 * n + i], token, wrote[i])
  end
end

local reply = #lost > 1 and lost or {DONE}
for _, message in ipairs(set.told) do
  reply[#reply + 1] = message
end
if not closed then
  reply[#reply + 1] = 'open'
end
return and_more(set, #reply > 1 and reply or DONE)
