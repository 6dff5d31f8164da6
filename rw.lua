-- Takes a set of write and read locks, or none of them; or stands in line for it. It also gives
-- fencing numbers.
--
-- KEYS and ARGV  see head.lua; without a waiter, the intent keys of the read keys follow; if the
--          request declares intents, the intent keys of its write keys follow these
-- ARGV[5]  id of the waiter, if it stands in line when it has to wait; else ''
-- ARGV[6]  its place. If it has none yet: for how long it has waited, less than nothing, in µs; the
--          same behind a '?' if it may have a place. Without a waiter: the ttl of the intents, ms:
--          '0' if the caller will not ask again, '' without intents
-- ARGV[7]  what its entry at its first key says between `alive until` and the value, see entry.lua
-- ARGV[8]  for how long the server has to have been up, ms; '' if it does not matter
--
-- Reply    DONE, or {DONE, fencing number}: every key is held in its mode, for ttl from now. What
--          the token held already, in either mode, counts as free. It keeps its number, unless it
--          gets a block of them, and its lease if that is longer.
--          {REFUSED, index, mode, ttl, detail}: see refusal. No lock was changed.
--          {IN_LINE, index, mode, ttl, detail, place, us, ms, 1 or 0}: it stands in line, at this
--          microsecond of the server's clock; ms: when to ask again if nothing is heard, or -1;
--          1 if anybody hears its channel here, else 0
--          OVERTAKEN: by a later request of its owner. Nothing was changed.
--          The error FOREIGNFENCE, see number_after. No lock was changed.

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
--#include refusal.lua
--#include enter.lua

local id = ARGV[5] ~= '' and ARGV[5] or nil
local age = id and tonumber(ARGV[6]) -- or its place
local stands = id and not (age and age <= 0) -- most likely, so there are lines
local intent, uptime = not id and ARGV[6] or '', ARGV[8] or ''
local closes = letters ~= '' and string.find(letters, 'c')
local plain = intent == '' and uptime == '' and not closes

-- One key. Either it is free and there is no line: most calls of callers that would wait. This
-- saves 65 % of the server's time on Redis 7.0.15 and Valkey 8.0.1: see BenchmarkShortCuts, also
-- for the figures below. Or somebody writes it, and others stand in line: most callers that have to
-- wait. It does the same as the code below without the parts that it would not use, which saves
-- 35 %. Nobody can have overtaken a waiter that enters behind all others, because guards stand
-- behind all places.
if plain and #KEYS == 2 and w == 1 and not stands then
  local held = redis.pcall('get', KEYS[1])
  if not held and redis.call('exists', KEYS[2]) == 0 then
    redis.call('set', KEYS[1], value, 'px', ttl)
    return DONE
  elseif id and letters == '' and type(held) == 'string' then
    local other = token_of(held)
    local may_wait = held ~= '' and #other <= MOST_TOKEN and other ~= token_of(value)
    local rest = may_wait and redis.call('pttl', KEYS[1]) or -1
    local line_left = rest >= 0 and redis.call('pttl', KEYS[2]) or -1
    local now, micros = clock()
    local place = string.format('%d', micros + age)
    if line_left > 0 and redis.pcall('zcount', KEYS[2], place, '+inf') == 0 then
      redis.call('zadd', KEYS[2], place, id .. '|' .. now + LIFE .. '|' .. ARGV[7] .. value)
      if line_left < 2 * LIFE - 1000 then
        redis.call('pexpire', KEYS[2], '' .. 2 * LIFE)
      end
      local mode = other == '' and 'write-left' or 'write'
      return {IN_LINE, 1, mode, rest, string.sub(held, #other + 2), micros + age, micros, -1,
        1}
    end
  end
end

local keeps = letters ~= '' and string.find(letters, 'k')
local fenced = letters ~= '' and string.find(letters, 'f')
local block = fenced and string.find(letters, 'b')

local set = set_of(n, letters, stamp, value)
local token = token_of(value)
local last -- the place of the last in the first line, as text

-- A writer holds the first key, and the waiter has no place yet: most callers that have to wait. It
-- does the same as the code below without the parts that it would not use, which saves 50 % for one
-- key, 35 % for 8. In a line without guards nobody can have overtaken it: guards stand behind all
-- places.
if plain and id and not stands then
  last = redis.call('zrange', KEYS[n + 1], '-1', '-1', 'withscores')[2]
  local guarded = last and tonumber(last) >= GUARDS
  if guarded and #KEYS == 2 and w == 1 and only_guards(set)
    and redis.call('set', KEYS[1], value, 'px', ttl, 'nx') then
    return DONE -- only guards of others stand in the line, which saves 60 %
  end
  local held = not guarded and redis.call('mget', KEYS[1])[1]
  local other = held and token_of(held) ~= token and is_value(held)
  local rest = other and redis.call('pttl', KEYS[1]) or -1
  if rest >= 0 then
    set.now, set.micros = clock()
    local place, there = place_in_lines(set, age, last)
    if there[1] ~= 'behind' then
      enter_lines(set, id, value, w, place, there)
      local ms, heard = rest, 1
      if is_waited(there[1]) then
        ms = -1
      else
        heard = is_heard()
      end
      return {IN_LINE, 1, mode_of('write', held), rest, metadata_of(held), place, set.micros, ms,
        heard}
    end
  end
end

local modes, mine, kinds, leases = {}, {}, {}, {}
local all_mine = true
local given -- the fencing number
local intents = (fenced and 3 or 2) * n -- the intent keys follow these
for i = 1, n do
  modes[i], kinds[i], leases[i] = i <= w and 'write' or 'read', 'none', ttl
end

-- Takes every key, and gives the hold its number. If no number is possible it has done nothing, and
-- returns the reply that says so.
local function take()
  local after, foreign
  if fenced then
    after, foreign = number_after(set, up_to(n), set.micros)
    if not after then
      return foreign
    end
    after = block and after + BLOCK or after
  end
  -- The first write is a SET of a key that has to exist. If memory is short it fails and leaves
  -- nothing, so none of the set is taken.
  if w > 0 and n > w then
    redis.call('set', KEYS[1], value, 'px', ttl, 'xx')
  end
  local reads, shared = {}, {}
  for i = w + 1, n do
    reads[i], shared[i] = true, kinds[i] == 'zset'
    if kinds[i] == 'string' and keeps then
      redis.call('set', KEYS[i], value, 'px', leases[i])
    else
      if kinds[i] == 'string' then
        redis.call('del', KEYS[i])
      elseif mine[i] and mine[i] ~= value then
        redis.call('zrem', KEYS[i], mine[i])
      end
      add_reader(set, i, value, set.now + leases[i], not shared[i])
    end
  end
  for i = 1, w do
    redis.call('set', KEYS[i], value, 'px', leases[i])
  end
  if fenced then
    given = all_mine and not block and number_of_hold(set, w, kinds, token, ttl)
      or next_number(set, up_to(n), reads, shared, token, after, ttl)
  end
end

-- Nobody holds a key, and nobody waits. Not to look at each key saves 40 % for 8 keys.
local keys_there, lines_there = count(1, stands and n or 2 * n), stands and n or 0
local asks_intents = not id and intent == '' and n > w
local intents_there = asks_intents and count(intents + 1, intents + n - w) or 0
if plain and keys_there + lines_there + intents_there == 0 then
  set.now, set.micros = clock()
  all_mine = false
  return take() or given and {DONE, given} or DONE
end
if plain and not id and keys_there > 0 then
  local refused = refused_at_once(set, w, keys_there, token)
  if refused then
    return refused
  end
end
if keys_there > 0 and lines_there == 0 then
  lines_there = count(n + 1, 2 * n)
  keys_there = keys_there - lines_there
end

with_lines(set)
set.now, set.micros = clock()
set.seen, set.there = {}, keys_there
local has_line = closes or lines_there > 0
if has_line then
  if overtaken(set) then
    return OVERTAKEN
  end
  close(set, true)
end

if uptime ~= '' then
  local info = redis.pcall('info', 'server')
  if type(info) == 'table' then
    return info -- the user may not ask, for example: nothing is known, so nothing is taken
  end
  local up = tonumber(string.match(info, 'uptime_in_seconds:(%-?%d+)') or '')
  if not up then
    return redis.error_reply('ERR INFO does not say for how long the server has been up')
  end
  -- Seconds are rounded down on both ends of the time.
  local rest = tonumber(uptime) - 1000 * (up - 1)
  if rest > 0 then
    if intent ~= '' then
      withdraw(intents + n - w + 1, intents + n, token)
    end
    return refusal(1, 'restarted', rest, '')
  end
end

local place = stands and age -- in the lines; nil if it has none
if stands and not place then
  for i = 1, n do
    local entry = entry_at(set, i, id)
    place = place or entry and entry.place
  end
  age = tonumber(string.sub(ARGV[6], 2))
end
local at, there = place, nil -- where it would stand, and what stands in each line
if id and not place then
  at, there = place_in_lines(set, age, last)
end

-- The entry of the waiter in its first line.
local function my_first()
  local front = set.fronts[1] and set.fronts[1][1] or ''
  if string.sub(front, 1, #id + 1) == id .. '|' then
    return entry_of(front)
  end
  return entry_at(set, 1, id, place)
end

-- Takes the waiter out of its lines.
local function leave_lines()
  local entered = my_first()
  local home, writes, reads
  if entered then
    home, writes, reads = my_entries(set, id, value, w, entered.till)
  end
  for i = 1, n do
    local text = my_entry(i, w, home, writes, reads)
    if not text or redis.pcall('zrem', KEYS[n + i], text) ~= 1 then
      leave_line(set, i, id, place)
    end
    set.fronts[i], set.heads[i] = nil, nil
  end
end

-- Reports whether the waiter stands in each of its lines, and was written there a moment ago. Then
-- nothing is written. To write the entries anew would cost three commands a key.
local function stands_well()
  local entered = place and my_first()
  if not entered or entered.till - set.now < LIFE - 500 then
    return false
  end
  local home, writes, reads = my_entries(set, id, value, w, entered.till)
  for i = 1, n do
    local text = my_entry(i, w, home, writes, reads)
    if tonumber(redis.call('zscore', KEYS[n + i], text) or 0) ~= place then
      return false
    end
  end
  return true
end

-- Intents keep new readers out, except a reader that declares intents itself, or one that stands in
-- line and keeps their writers out: two such sets could keep each other out for ever.
local declared = {}
if intents_there > 0 then
  declared = strings(n - w, intents)
end
local function refused_by_intent(i)
  local waiting = declared[i - w]
  if not waiting or token_of(waiting) == token then
    return nil
  end
  return refusal(i, 'intent', redis.call('pttl', KEYS[intents + i - w]), metadata_of(waiting))
end

local refused
for i = 1, n do
  local its, rest
  its, mine[i], kinds[i], rest = look(set, i, modes[i], token, value)
  leases[i] = longer(ttl, rest)
  if not its and not mine[i] then
    local waiter = has_line and waiter_before(set, i, modes[i], token, at)
    its = waiter and refusal_by_waiter(set, i, waiter) or refused_by_intent(i)
  end
  if its then
    refused = its
    break
  end
  if not mine[i] or kinds[i] ~= 'string' and modes[i] ~= 'read' then
    all_mine = false
  end
end

if refused and id then
  local first, ms, heard = refused[2], -1, 1
  if there and set.dropped then
    at, there = place_in_lines(set, age)
  end
  if not stands_well() then
    if place then
      leave_lines()
    end
    enter_lines(set, id, value, w, at, there)
    set.fronts, set.heads = {}, {}
  end
  if stands or not is_waited(there[1]) then
    heard = is_heard()
  end
  if refused[3] ~= 'queue' and not (there and is_waited(there[first])) then
    local front = in_line(set, first, '0', '0')[1] or ''
    if string.sub(front, 1, #id + 1) == id .. '|' then
      ms = refused[4]
    end
  end
  return finished(set, {IN_LINE, first, refused[3], refused[4], refused[5], at, set.micros, ms,
    heard})
end
if refused then
  if intent ~= '' then
    declare(intents + n - w + 1, intents + n, value, intent, refused)
  end
  return finished(set, refused)
end

local foreign = take()
if foreign then
  return finished(set, foreign)
end
if intent ~= '' then
  withdraw(intents + n - w + 1, intents + n, token)
end
local freer = false -- for waiting readers; or waiters were passed
for i = 1, n do
  freer = freer or i > w and kinds[i] == 'string' and not keeps or there and there[i] == 'behind'
  set.written[i] = i <= w and token or nil
  set.held_for[i] = tonumber(leases[i])
end
if place then
  leave_lines()
end
if has_line and (place or freer) then
  for i = 1, n do
    set.tell_first[i] = true
  end
  hand_over(set)
end
return finished(set, given and {DONE, given} or DONE)
