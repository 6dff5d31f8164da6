-- Frees every key of a set that is still the token's, and hands it over to those who wait. Or it
-- leaves the keys taken, for some time more.
--
-- KEYS and ARGV  see head.lua; the lock keys may be intent keys; what is stored may have other
--          metadata; with a ttl, the keys are to be left taken for so long
-- ARGV[5]  the channel of the caller: what is to be told there stands in the reply instead; '' if
--          it has none
-- ARGV[6]  id of a waiter that gives up, or ''
-- ARGV[7]  its place, '?' if that is not known
-- ARGV[8]  ... indexes of keys that are not to be freed; `index|id` if only where a guard of this
--          id stands in the home line
--
-- Reply    DONE, or {DONE, message, ...}: every key was the token's, and is free, or left.
--          {NOT_YOURS, index, ..., message, ...}: the keys that were not the token's, or were not
--          to be freed; the others are free, or left.
--          A message 'open': the guards could not be set. 'more', the last of all, in the reply of
--          each script that has lines: see MOST_GONE in line.lua.
--          OVERTAKEN: by a later request of its owner. Nothing was changed.

--#include head.lua

local closes = letters ~= '' and string.find(letters, 'c', 1, true)
local fenced = letters ~= '' and string.find(letters, 'f', 1, true)
local plain = not closes and (ARGV[6] or '') == ''
local held -- the strings at the keys
local whole, has_line -- the set is write-locked as it was taken; somebody waits, or guards stand
local front -- the first entry of the first line, with its score where that is needed
local keep = tonumber(ttl or '')

-- One write-locked key that nobody waits for: most of all calls, so this comes before functions are
-- made. It saves 75 % of the server's time on Redis 7.0.15 and Valkey 8.0.1: see
-- BenchmarkShortCuts, also for the figures below.
plain = plain and not keep and not ARGV[8]
if n == 1 and plain and not fenced then
  local its = redis.pcall('get', KEYS[1])
  whole = its == value
  front = redis.pcall('zrange', KEYS[2], '0', '0')
  has_line = front[1] ~= nil or front.err and redis.call('exists', KEYS[2]) > 0
  if whole and not has_line then
    redis.call('del', KEYS[1])
    return DONE
  elseif type(its) ~= 'table' or string.sub(its.err, 1, 9) == 'WRONGTYPE' then
    held = {type(its) == 'string' and its}
  end
end

--#include common.lua

local now, micros, unheard -- the id of a waiter that nobody hears

-- Reads the entry of the first in the first line. Returns its parts, if it wants to write just this
-- set, somebody hears it, and this request was not overtaken; else nil.
local function next_writer(text, owner)
  local id, till, how, its_ttl, keys, channel, names, at = parts_of(text)
  if not id or tonumber(keys) ~= n or tonumber(its_ttl) < ASKS_AGAIN
    or string.byte(how, 1) ~= 119 or string.byte(how, 3) == 102 and not fenced -- 'w', 'f'
    or redis.pcall('zscore', KEYS[n + 1], owner) then
    return nil
  end
  now, micros = clock()
  local wanted, behind, heard = {}, at + channel, 1
  for i = 1, n > 1 and n or 0 do
    wanted[i] = 'w' .. #KEYS[i] .. ':' .. KEYS[i]
  end
  if tonumber(till) <= now
    or string.sub(text, behind, behind + names - 1) ~= table.concat(wanted) then
    return nil
  end
  -- Whose process is gone is not granted the keys, which nobody would free until its lease ends.
  channel = string.sub(text, at, behind - 1)
  if channel ~= ARGV[5] then
    heard = publish(how, channel, '')
    unheard = heard == 0 and id or nil
  end
  if heard and heard > 0 then
    return id, till, how, its_ttl, channel, string.sub(text, behind + names)
  end
end

-- Tells a waiter that it was granted the keys, and returns the reply.
local function granted(id, how, channel, number)
  local message = string.format('g|%s|%d|%d', id, micros, number)
  if channel == ARGV[5] then
    return {DONE, message}
  end
  publish(how, channel, message)
  return DONE
end

-- One key, and one who waits for just that: most hand-overs. It saves 60 %.
if whole and has_line then
  local owner = string.match(stamp, '^[^|]+') or token_of(value)
  local id, _, how, its_ttl, channel, its_value = next_writer(front[1] or '', owner)
  if id then
    redis.call('zrem', KEYS[2], front[1])
    redis.call('set', KEYS[1], its_value, 'px', its_ttl)
    return granted(id, how, channel, 0)
  end
end

--#include keys.lua

-- Write-locked keys that nobody waits for: most of what is left. Of 8 keys it saves 65 %.
if plain and not held then
  held, whole = strings(n), true
  for i = 1, n do
    whole = whole and held[i] == value
  end
end
if plain and has_line == nil and n == 1 then -- it is fenced
  front = redis.pcall('zrange', KEYS[2], '0', '1', 'withscores')
  has_line = front[1] ~= nil or front.err and redis.call('exists', KEYS[2]) > 0
elseif plain and has_line == nil then
  has_line = count(n + 1, 2 * n) > 0
end

-- Forgets the numbers of a hold that has written the whole set. What is no hash is left alone.
local function forget_numbers()
  for i = 2 * n + 1, fenced and 3 * n or 0 do
    redis.pcall('hdel', KEYS[i], token_of(value), '|')
  end
end

if whole and not has_line then
  delete(KEYS, n)
  forget_numbers()
  return DONE
end

--#include values.lua
--#include entry.lua
--#include guard.lua
--#include fence.lua

-- Takes a waiter out of all lines, if it stands first in each: in the first line, where it does, as
-- `front` says, and with `text` in the others. Else it changes nothing. ZPOPMIN takes an entry out
-- of a line and tells that it was the first: it is put back if that was wrong.
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

-- Gives the whole set to the first in the first line, if it wants to write just that, and is the
-- first in every line. Returns the reply, nil if it is not so.
local function grant_whole(set)
  local id, till, how, its_ttl, channel, its_value = next_writer(front[1], set.owner)
  local has_number = id and string.byte(how, 3) == 102
  set.now, set.micros = now, micros
  local number = has_number and number_after(set, up_to(n), micros) or 0
  local text = id and entry_text(id, till, string.sub(how, 1, 3) .. '-' .. string.sub(how, 5),
    its_ttl, n, channel, KEYS[1], its_value)
  if not id or has_number and number == 0 or not leave_as_first(text) then
    return nil
  end
  for i = 1, n do
    redis.call('set', KEYS[i], its_value, 'px', its_ttl)
  end
  if has_number then
    next_number(set, up_to(n), {}, {}, token_of(its_value), number, its_ttl)
  else
    forget_numbers()
  end
  return granted(id, how, channel, number)
end

-- The same for a whole set that one who waits wants to write, or that is fenced: this saves 50 % of
-- 8 keys.
local set = set_of(n, letters, stamp, value)
if whole and (n > 1 or fenced) then
  front = front or redis.pcall('zrange', KEYS[n + 1], '0', '1', 'withscores')
  local reply = front[1] and grant_whole(set)
  if reply then
    return reply
  end
end

-- Where only guards of others stand in the lines, this saves 45 %.
if has_line and whole and not (front[1] and parts_of(front[1])) and only_guards(set) then
  delete(KEYS, n)
  forget_numbers()
  return DONE
end

--#include readers.lua
--#include line.lua
--#include handover.lua

local id, place = ARGV[6] or '', tonumber(ARGV[7] or '')
local token, asked = token_of(value), now ~= nil -- for a guard of the owner, and there was none
if not asked then
  now, micros = clock()
end
with_lines(set)
set.now, set.micros = now, micros
set.caller, set.unheard, set.fronts[1] = ARGV[5], unheard, front and front[2] and front or nil
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
for a = 8, #ARGV do
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
    redis.call('pexpire', KEYS[i], ttl)
    redis.call('set', KEYS[i], left, 'px', ttl)
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
delete(to_delete, #to_delete)

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
for i = 1, fenced and not ARGV[8] and n or 0 do
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
