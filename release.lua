-- Frees every key of a set that is still the token's, and hands it over to the next in line. Or it
-- leaves the keys taken for some more time.
--
-- KEYS and ARGV  see head.lua; the lock keys may be intent keys; what is stored may have other
--          metadata; with a ttl, the keys are left taken for so long
-- ARGV[5]  the channel of the caller: the reply has what would be published there; '' if it has
--          none
-- ARGV[6]  id of a waiter that quits its line, or ''; or '>', if the caller knows the next owner, or
--          '>b', if its number is to be the last of a block
-- ARGV[7]  its place, '?' if that is not known; or for how long the next owner has waited, less than
--          nothing, in µs
-- ARGV[8]  ... indexes of keys that are not to be freed; or the ttl of the next owner, and its value
--
-- Reply    GIVEN, or {GIVEN, fencing number, message, ...}, without a number if the set is not
--          fenced: every key was as it was taken, and is the next owner's. For that it must have
--          come before everybody who stands in line.
--          DONE, or {DONE, message, ...}: every key was the token's, and is free, or left.
--          {NOT_YOURS, index, ..., message, ...}: the keys that were not the token's, or were not
--          to be freed; the others are free, or left.
--          A message 'open': the guards could not be set. 'more', the last of all, in the reply of
--          each script that has lines: see MOST_GONE in line.lua.
--          OVERTAKEN: by a later request of its owner. Nothing was changed.

--#include head.lua
--#include set.lua
--#include keys.lua
--#include values.lua
--#include readers.lua
--#include fence.lua
--#include guard.lua
--#include entry.lua
--#include line.lua
--#include handover.lua

-- Keys as they were taken, that nobody waits for. Most calls end here, so it comes before the head
-- and reads no more than it needs. It saves 80 % of the server's time for one key on Redis 7.0.15
-- and Valkey 8.0.1, 65 % for 8 keys: see BenchmarkShortCuts, also for the figures below. Where the
-- next owner of one key is known it saves 20 %; if there is no memory, the script goes on.
local only -- what GET says of the only key
local held -- the strings at several keys
local whole, has_line -- all write-locked as it was taken; there are waiters or guards
local front -- the first entry of the first line; two, with scores, for more keys or fenced ones
if not ARGV[2] then
  only = redis.pcall('get', KEYS[1])
  has_line = redis.call('exists', KEYS[2]) > 0
  if only == ARGV[1] and not has_line then
    redis.call('del', KEYS[1])
    return DONE
  end
elseif ARGV[6] == '>' and ARGV[2] == '' and ARGV[3] == '' then
  only, has_line = redis.pcall('get', KEYS[1]), true
  front = redis.pcall('zrange', KEYS[2], '0', '1', 'withscores')
  if only == ARGV[1] and front[1] == nil and not front.err
    and not redis.pcall('set', KEYS[1], ARGV[9], 'px', ARGV[8]).err then
    return GIVEN
  end
end

local few = ARGV[2] == '' and not ARGV[4] and tonumber(ARGV[3])
if few and few <= CHUNK then
  held, whole = redis.call('mget', unpack(KEYS, 1, few)), true
  for i = 1, few do
    if held[i] ~= ARGV[1] then
      whole = false
    end
  end
  has_line = redis.call('exists', unpack(KEYS, few + 1, 2 * few)) > 0
  if whole and not has_line then
    redis.call('del', unpack(KEYS, 1, few))
    return DONE
  end
end

local closes = letters ~= '' and string.find(letters, 'c')
local fenced = letters ~= '' and string.find(letters, 'f')
local keep = ttl and ttl ~= '' and tonumber(ttl)
local asks = ARGV[6] or ''
local block = asks == '>b'
local gives = block or asks == '>'
local spares = not gives and ARGV[8]
local plain = not closes and not keep and not spares and (gives or asks == '')

-- The same for calls that say more.
if plain and n == 1 then
  if only == nil then
    only = redis.pcall('get', KEYS[1])
    -- If the caller has a channel, most likely somebody waits: so the script does not ask.
    has_line = ARGV[5] ~= nil and ARGV[5] ~= '' or redis.call('exists', KEYS[2]) > 0
  end
  whole = only == value
  if has_line and not front then
    front = (fenced or gives) and redis.pcall('zrange', KEYS[2], '0', '1', 'withscores')
      or redis.pcall('zrange', KEYS[2], '0', '0')
  end
  has_line = front and (front[1] ~= nil or front.err and redis.call('exists', KEYS[2]) > 0)
elseif plain then
  for first = 1, whole == nil and n or 0, CHUNK do
    local last = first + CHUNK > n and n or first + CHUNK - 1
    held, whole = redis.call('mget', unpack(KEYS, first, last)), whole ~= false
    for i = 1, #held do
      whole = whole and held[i] == value
    end
    has_line = has_line or redis.call('exists', unpack(KEYS, n + first, n + last)) > 0
  end
  front = whole and has_line and redis.pcall('zrange', KEYS[n + 1], '0', '1', 'withscores') or nil
end
local age, next_ttl, next_value = gives and tonumber(ARGV[7]), ARGV[8], ARGV[9]
if gives and whole and not has_line and not fenced then
  give(n, next_value, next_ttl)
  return GIVEN
elseif whole and not has_line and not gives then
  for first = 1, n, CHUNK do
    redis.call('del', unpack(KEYS, first, first + CHUNK > n and n or first + CHUNK - 1))
  end
  for i = 2 * n + 1, fenced and 3 * n or 0 do
    redis.pcall('hdel', KEYS[i], string.match(value, '^[^|]*'), '|') -- only if it is a hash
  end
  return DONE
end

-- The next owner has come before everybody who stands in line, and no guard is against it or
-- against this request. Whoever has a place later than now came before the clock was set back.
local now, micros
local goes_first = gives and whole
if goes_first then
  now, micros = clock()
  for i = 1, has_line and n or 0 do
    local its = i == 1 and front or redis.pcall('zrange', KEYS[n + i], '0', '0', 'withscores')
    local place = not its.err and tonumber(its[2] or GUARDS)
    if not place or place <= micros + age or place > micros and place < GUARDS then
      goes_first = false
    end
  end
  local owner = stamp ~= '' and string.match(stamp, '^[^|]+') or token_of(value)
  if has_line and (redis.pcall('zscore', KEYS[n + 1], owner)
    or redis.pcall('zscore', KEYS[n + 1], token_of(next_value))) then
    goes_first = false
  end
end
if goes_first and n == 1 and not fenced and tonumber(next_ttl) >= ASKS_AGAIN then
  give(1, next_value, next_ttl)
  return GIVEN
end

-- Such keys, and first in the first line is a waiter that wants to write just these: the case of
-- most waiters. `heard`: somebody hears it. A waiter with a dead process is not granted the keys:
-- nobody would free them until its lease ends.
local heard, unheard
local asked = false -- for a guard of the owner: there is none
local text = whole and not goes_first and front and front[1] or ''
local its_id, till, how, its_ttl, size, channel, names, at = parts_of(text)
if its_id and tonumber(size) == n and tonumber(its_ttl) >= ASKS_AGAIN
  and string.sub(how, 1, 1) == 'w' and (fenced or string.sub(how, 3, 3) == '-')
  and not redis.pcall('zscore', KEYS[n + 1], stamp ~= '' and string.match(stamp, '^[^|]+')
    or token_of(value)) then
  asked = true
  if not now then
    now, micros = clock()
  end
  names = at + channel + names
  channel = string.sub(text, at, at + channel - 1)
  local wants = tonumber(till) > now
  if wants and n > 1 then
    local all = {}
    for i = 1, n do
      all[i] = 'w' .. #KEYS[i] .. ':' .. KEYS[i]
    end
    wants = string.sub(text, at + #channel, names - 1) == table.concat(all)
  end
  if wants and channel ~= ARGV[5] then
    heard = publish(how, channel, '')
    unheard = heard == 0 and its_id or nil
    wants = heard and heard > 0
  end
  heard = wants
end

-- The waiter is granted one key: this saves 65 %.
if heard and n == 1 and not fenced then
  redis.call('zrem', KEYS[2], text)
  redis.call('set', KEYS[1], string.sub(text, names), 'px', its_ttl)
  local message = string.format('g|%s|%d|0', its_id, micros)
  if channel == ARGV[5] then
    return {DONE, message}
  end
  publish(how, channel, message)
  return DONE
end

-- Takes a waiter out of all lines, if it stands first in each. In the first line it does, as
-- `front` says; in the others it must stand with `its_text`. Otherwise nothing is changed. ZPOPMIN
-- takes the first entry out of a line and returns it: a wrong one is put back.
local function leave_as_first(its_text)
  for i = 2, n do
    local first = redis.pcall('zpopmin', KEYS[n + i])
    if first[1] ~= its_text then -- which says whose it is, and so its place
      if first[1] then
        put_first(KEYS[n + i], first[1], first[2])
      end
      for j = 2, i - 1 do
        put_first(KEYS[n + j], its_text, front[2])
      end
      return false
    end
  end
  redis.call('zrem', KEYS[n + 1], front[1])
  return true
end

-- Forgets the numbers of a hold of such a set.
local function forget_numbers()
  for i = 2 * n + 1, fenced and 3 * n or 0 do
    redis.pcall('hdel', KEYS[i], token_of(value), '|')
  end
end

-- The waiter is granted the whole set, or a fenced key, if it is the first in every line: this
-- saves 45 % for 8 keys.
local set = set_of(n, letters, stamp, value)
set.now, set.micros = now, micros
local number = (heard and string.sub(how, 3, 3) == 'f' or goes_first and fenced)
  and number_after(set, up_to(n), micros) or 0
number = goes_first and block and number > 0 and number + BLOCK or number
local given = goes_first and (number > 0 or not fenced)
if given then
  give(n, next_value, next_ttl)
  if fenced then
    next_number(set, up_to(n), {}, {}, token_of(next_value), number, next_ttl)
  end
  if not has_line or tonumber(next_ttl) >= ASKS_AGAIN then
    return fenced and {GIVEN, number} or GIVEN
  end
end
if heard and (number > 0 or string.sub(how, 3, 3) == '-') and leave_as_first(entry_text(its_id, till,
  string.sub(how, 1, 3) .. '-' .. string.sub(how, 5), its_ttl, n, channel, KEYS[1],
  string.sub(text, names))) then
  for i = 1, n do
    redis.call('set', KEYS[i], string.sub(text, names), 'px', its_ttl)
  end
  if number > 0 then
    next_number(set, up_to(n), {}, {}, token_of(string.sub(text, names)), number, its_ttl)
  else
    forget_numbers()
  end
  local message = string.format('g|%s|%d|%d', its_id, micros, number)
  if channel == ARGV[5] then
    return {DONE, message}
  end
  publish(how, channel, message)
  return DONE
end

-- Where only guards of others stand in the lines, this saves 60 %.
if has_line and whole and not its_id and not given and only_guards(set) then
  delete(KEYS, n)
  forget_numbers()
  return DONE
end

local id, place = not gives and ARGV[6] or '', tonumber(ARGV[7] or '')
local token = token_of(value)
if not now then
  now, micros = clock()
end
with_lines(set)
set.now, set.micros = now, micros
set.caller, set.unheard, set.fronts[1] = ARGV[5], unheard, front and front[2] and front or nil
if given then -- those who wait are told when its lease is over
  for i = 1, n do
    set.written[i], set.held_for[i] = token_of(next_value), tonumber(next_ttl)
    set.tell_first[i] = true
  end
  hand_over(set)
  return finished(set, fenced and {GIVEN, number} or GIVEN)
end
if has_line == nil then
  has_line = closes or count(n + 1, 2 * n) > 0
end
local closed = true
if has_line then
  -- A user without the rights that guards need still frees the keys. If the release failed instead,
  -- the keys would stay locked until their leases end.
  local known, late = true, false
  if not asked then
    known, late = pcall(overtaken, set)
  end
  if known and late then
    return OVERTAKEN
  end
  closed = pcall(close, set)
end

if only ~= nil and (type(only) ~= 'table' or string.sub(only.err, 1, 9) == 'WRONGTYPE') then
  held = {type(only) == 'string' and only}
end
held = n <= CHUNK and held or strings(n)
local to_delete, wrote, lost, spared = {}, {}, {NOT_YOURS}, {}
for a = 8, gives and 0 or #ARGV do
  spared[tonumber(ARGV[a])] = true
end

-- Leaves KEYS[i] taken by nobody, in the mode in which `last` holds it: see values.lua. The leases
-- of other readers of the key do not end sooner. The first command frees memory, or needs none, so
-- the others are not refused for want of it.
local function leave(i, last, lease)
  local left = '|' .. metadata_of(last)
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
    -- Only a writer can have waited for a reader that quits. If the key is free, the reader may
    -- have been the one that was told when to ask.
    local first = mode == 'read' and #lost > n and redis.call('exists', KEYS[i]) == 1
      and in_line(set, i, '0', '0')[1]
    same[i] = first and entry_of(first).mode == 'read'
  end
  hand_over(set, same)
end
for i = 1, fenced and not spares and n or 0 do
  if not set.numbered[i] then
    forget_number(KEYS[2 * n + i], token, wrote[i])
  end
end

if not closed then
  set.told[#set.told + 1] = 'open'
end
return finished(set, #lost > 1 and lost or DONE)
