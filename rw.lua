-- Takes a set of write and read locks, or none of them; or stands in line for it. Fencing numbers
-- are given here, too.
--
-- KEYS     n = w + r lock keys: w write keys, r read keys; n lines; if fenced n fences; without
--          an ARGV[10] r intent keys, of the read keys; with an ARGV[7] w more, of the write keys;
--          then lines in which only guards are to be set
-- ARGV[1]  value: `token` or `token|metadata`
-- ARGV[2]  ttl, ms
-- ARGV[3]  stamp, see guard.lua; '' if there is none
-- ARGV[4]  '1' if the stamp has guards to set; 'k' if it may have, and read keys that the token
--          writes stay what they are; else ''
-- ARGV[5]  w
-- ARGV[6]  r
-- ARGV[7]  ttl of the caller's intents, ms; '0' if it will not ask again; '' without intents
-- ARGV[8]  '1': fenced
-- ARGV[9]  for how long the server has to have been up, ms; 0: it does not matter
-- ARGV[10] id of the waiter, if it stands in line when it has to wait; else absent
-- ARGV[11] its place, '' if it has none yet, '?' if that is not known
-- ARGV[12] for how long it counts as alive if it does not ask again, ms
-- ARGV[13] 's' if its channel is sharded, else 'p'
-- ARGV[14] its channel
--
-- Reply    DONE, or {DONE, fencing number}: every key is held in its mode, for ttl from now. What
--          the token held already, in either mode, counts as free; it keeps its number, and its
--          lease if that is longer.
--          {REFUSED, index, mode, ttl, detail}: see refusal. No lock was changed.
--          {IN_LINE, index, mode, ttl, detail, place, us, ms, 1 or 0}: it stands in line, at this
--          microsecond of the server's clock; ms: when to ask again if nothing is heard, or -1;
--          whether anybody hears its channel here
--          OVERTAKEN: by a later request of its owner. Nothing was changed.
--          The error FOREIGNFENCE, see number_after. No lock was changed.

-- One free key, and no line: most of the calls of those who would wait. This saves 75 % of the
-- server's time on Redis 7.0.15, 80 % on Valkey 8.0.1: see BenchmarkShortCuts.
local lone_writer = #KEYS == 2 and ARGV[5] == '1' and ARGV[7] == '' and ARGV[9] == '0'
  and ARGV[4] == ''
if lone_writer and redis.call('exists', KEYS[2]) == 0
  and redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2], 'nx') then
  return DONE
end

--#include entry.lua
--#include guard.lua

-- One key, held by a writer: most of those who have to wait. The same as below, without what it
-- would not use, which saves 50 %. Where only guards of others stand in the line the key is taken
-- if it is free, which saves 50 %; else guards are left to what stands
-- below.
if lone_writer and ARGV[11] == '' then
  local line = KEYS[2]
  local last = redis.call('zrange', line, -1, -1, 'withscores')[2]
  if last and tonumber(last) >= GUARDS then
    read_stamp(ARGV[3], ARGV[1], 1, 1)
    if only_guards(2, 2) and redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2], 'nx') then
      return DONE
    end
    last = nil
  end
  local held = redis.call('mget', KEYS[1])[1]
  local token = string.match(ARGV[1], '^[^|]*')
  local holder, at = string.match(held or '|', '^([^|]*)|?()')
  local left = redis.call('pttl', KEYS[1])
  if last and held and holder ~= token and left >= 0 then
    local time = redis.call('time')
    local ms = time[1] * 1000 + math.floor(time[2] / 1000)
    local micros = time[1] * 1000000 + time[2]
    local place = math.max(micros, last + 1)
    local text = string.format('%s|%d|w|%s--|%s|1|%d|0|',
      ARGV[10], ms + ARGV[12], ARGV[13], ARGV[2], #ARGV[14])
    redis.call('zadd', line, string.format('%d', place), text .. ARGV[14] .. ARGV[1])
    if math.floor(last / 1000000) ~= tonumber(time[1]) then -- the first of each second does it
      redis.call('pexpire', line, string.format('%d', 2 * ARGV[12]))
    end
    -- That somebody hears its channel is not asked: it has just subscribed.
    return {IN_LINE, 1, 'write', left, string.sub(held, at), place, micros, -1, 1}
  end
end

--#include values.lua
--#include fence.lua
--#include line.lua

local value, ttl, w, r = ARGV[1], ARGV[2], tonumber(ARGV[5]), tonumber(ARGV[6])
local intent, id, life = ARGV[7], ARGV[10] or '', tonumber(ARGV[12])
local token, now, micros = token_of(value), clock()
size, fenced = w + r, ARGV[8] == '1'
local intents = (fenced and 3 or 2) * size -- they stand behind these

read_stamp(ARGV[3], value, size, 1)
local has_line = ARGV[4] ~= '' or anybody_waits()
if has_line then
  if overtaken(now) then
    return OVERTAKEN
  end
  close(now, true)
end

if ARGV[9] ~= '0' then
  local info = redis.pcall('info', 'server')
  if type(info) == 'table' then
    return info -- the user may not ask, for example: then nobody knows, so nothing is taken
  end
  local up = tonumber(string.match(info, 'uptime_in_seconds:(%-?%d+)') or '')
  if not up then
    return redis.error_reply('ERR INFO does not say for how long the server has been up')
  end
  -- Seconds are rounded down on both ends of the time.
  local left = tonumber(ARGV[9]) - 1000 * (up - 1)
  if left > 0 then
    if intent ~= '' then
      withdraw(intents + r + 1, intents + r + w, token)
    end
    return refusal(1, 'restarted', left, '')
  end
end

local place -- in the lines
if ARGV[11] == '?' then
  for i = 1, size do
    local entry = entry_at(i, id)
    place = place or entry and entry.place
  end
else
  place = tonumber(ARGV[11] or '')
end

-- Intents keep new readers out, but not one that declares intents itself, nor one that stands in
-- line, which keeps their writers out: two such sets could keep each other out for ever.
local function refused_by_intent(i)
  if i <= w or intent ~= '' or id ~= '' then
    return nil
  end
  local waiting = redis.call('get', KEYS[intents + i - w])
  if not waiting or token_of(waiting) == token then
    return nil
  end
  return refusal(i, 'intent', redis.call('pttl', KEYS[intents + i - w]), metadata_of(waiting))
end

local everywhere, modes, mine, kinds, leases = {}, {}, {}, {}, {}
local refused, all_mine = nil, true
for i = 1, size do
  local left
  everywhere[i], modes[i] = i, i <= w and 'write' or 'read'
  refused, mine[i], kinds[i], left = look(i, modes[i], token, value, now)
  leases[i] = longer(ttl, left)
  if not refused and not mine[i] then
    local waiter = has_line and waiter_before(i, modes[i], token, place, now)
    refused = waiter and refusal_by_waiter(i, waiter, now) or refused_by_intent(i)
  end
  if refused then
    break
  end
  all_mine = all_mine and mine[i] and (kinds[i] == 'string' or modes[i] == 'read')
end

-- An entry as it stands in the line of KEYS[i].
local function my_entry(i, till, names)
  local first = i == 1 and size > 1
  if size > 1 and not first then
    names = KEYS[1]
  end
  return string.format('%s|%d|%s|%s%s%s|%s|%d|%d|%d|', id, till, i <= w and 'w' or 'r', ARGV[13],
    fenced and 'f' or '-', first and 'h' or '-', ttl, size, #ARGV[14], #names)
    .. ARGV[14] .. names .. value
end

-- The last place in the line of KEYS[i], or 0.
local function last_place(i)
  local line = KEYS[size + i]
  local last = tonumber(redis.call('zrange', line, -1, -1, 'withscores')[2] or 0)
  if last < GUARDS then
    return last
  end
  drop_ended_guards(line, now)
  local below = string.format('(%d', GUARDS)
  last = redis.call('zrevrangebyscore', line, below, '-inf', 'withscores', 'limit', 0, 1)[2]
  return tonumber(last or 0)
end

-- Enters every line, in the place that the waiter has, or with one that is behind all others.
local function enter_lines()
  local at, names = place or micros, {}
  for i = 1, size do
    if not place then
      at = math.max(at, 1 + last_place(i))
    end
    if size > 1 then
      names[i] = (i <= w and 'w' or 'r') .. #KEYS[i] .. ':' .. KEYS[i]
    end
  end
  local score, till = string.format('%d', at), 2 * life
  names = table.concat(names)
  local heard
  if ARGV[13] == 's' then
    heard = redis.call('spublish', ARGV[14], '')
  else
    heard = redis.call('publish', ARGV[14], '')
  end
  for i = 1, size do
    local line, text = KEYS[size + i], my_entry(i, now + life, names)
    if place then
      leave_line(i, id, place)
    end
    local left = redis.call('pttl', line)
    if left == -2 then
      -- Nothing happens here. But if there is no memory, or the user may not do it, it fails here
      -- and not between the two below, which would leave a line without a TTL.
      redis.call('zadd', line, 'xx', score, text)
      redis.call('pexpire', line, till)
    end
    redis.call('zadd', line, score, text)
    if left < till then -- guards in it may live longer
      redis.call('pexpire', line, till)
    end
  end
  place = at
  return heard > 0 and 1 or 0
end

if refused and id ~= '' then
  local heard = enter_lines()
  local first, ms = refused[2], -1
  if refused[3] ~= 'queue' then
    local front = redis.call('zrange', KEYS[size + first], 0, 0)
    if string.sub(front[1], 1, #id) == id then
      ms = refused[4]
    end
  end
  if dropped then
    hand_over(now, micros)
  end
  return {IN_LINE, first, refused[3], refused[4], refused[5], place, micros, ms, heard}
end
if refused then
  if intent ~= '' then
    declare(intents + r + 1, intents + r + w, value, intent, refused)
  end
  if dropped then
    hand_over(now, micros)
  end
  return refused
end

local after, foreign
if fenced then
  after, foreign = number_after(2 * size, everywhere, micros)
  if not after then
    if dropped then
      hand_over(now, micros)
    end
    return foreign
  end
end

-- The first write is one that may fail and leave nothing, a SET of a key that has to exist: if
-- memory is short, none of the set is taken.
if w > 0 then
  redis.call('set', KEYS[1], value, 'px', ttl, 'xx')
end
local alone, freer = {}, false
for i = 1, size do
  alone[i] = i <= w or kinds[i] ~= 'zset'
end
for i = w + 1, size do
  if kinds[i] == 'string' and ARGV[4] == 'k' then
    redis.call('set', KEYS[i], value, 'px', leases[i])
  else
    if kinds[i] == 'string' then
      redis.call('del', KEYS[i])
      freer = true -- for the readers who wait
    elseif mine[i] and mine[i] ~= value then
      redis.call('zrem', KEYS[i], mine[i])
    end
    add_reader(KEYS[i], value, now + leases[i], now)
  end
end
for i = 1, w do
  redis.call('set', KEYS[i], value, 'px', leases[i])
end

if intent ~= '' then
  withdraw(intents + r + 1, intents + r + w, token)
end
local number
if fenced then
  number = all_mine and number_of_hold(2 * size, everywhere, kinds, token, ttl)
    or next_number(2 * size, everywhere, alone, token, after, ttl)
end
if place then
  for i = 1, size do
    leave_line(i, id, place)
  end
end
if has_line and (place or freer) then
  for i = 1, size do
    tell_first[i] = true
  end
end
if has_line and (place or freer or dropped) then
  hand_over(now, micros)
end
return fenced and {DONE, number} or DONE
