-- Keeps waiters of one Client in their lines, and tells which of them have to ask by themselves.
--
-- It looks after thousands of waiters in one run. So it remembers most of what it reads, and does
-- in a shorter way what `look`, waiter_before and parts_of do: tell who holds a key, who stands
-- before a waiter, and what an entry says. With `look` a waiter of one key would cost 37 % more,
-- with parts_of 7 %.
--
-- KEYS     n lock keys, each once; their n lines
-- ARGV     see head.lua; value, ttl and stamp are empty
-- ARGV[5]  ... for each waiter its id, its place, how many keys its set has, and which of the lock
--          keys these are
--
-- Reply    {us, index, ms, ...}: the microsecond of the server's clock; and for each waiter that
--          has to ask by itself its index, from 1, and when. 0 says at once: it does not stand in
--          each of its lines, nobody hears its channel here, or nothing is in its way any more.
--          More than 0 says that it is the first, and when the lease before it will be over. All
--          others stand where they stood, and are alive for LIFE.
--
-- It grants nothing, and never makes an entry. It only gives an entry that is there, at this place,
-- another `alive until`. So it may be executed late, or twice, and has no stamp. The entry of a
-- waiter that has quit, or was granted its keys, is gone; a waiter that has entered its lines anew
-- stands at another place. A late run can do one thing: a waiter that has died unnoticed counts as
-- alive for LIFE longer.

--#include head.lua
--#include keys.lua
--#include values.lua
--#include entry.lua

local now, micros = clock()
local till = '|' .. now + LIFE .. '|'

local writes = strings(n) -- the tokens at the lock keys; false where there is no string
for i = 1, n do
  writes[i] = writes[i] and token_of(writes[i])
end

local kinds = {} -- types of lock keys that are no strings, if they were asked for
local leases = {} -- the last two leases to end, of keys that are read
local kept = {} -- lines that last long enough
local heads = {} -- the id of the first in each line
local writers = {} -- the first writer in each line, and its place; false if there is none
local heard = {} -- how many hear each channel; false if that is not known

-- Reports whether the holder of KEYS[i] keeps out a token that wants to read or to write it; and if
-- the holder is a reader, until when. The same as `look` says.
local function is_held(i, reads, token)
  if writes[i] then
    return writes[i] ~= token
  end
  local kind = kinds[i] or redis.call('type', KEYS[i]).ok
  kinds[i] = kind
  if kind ~= 'zset' then
    return kind ~= 'none'
  elseif reads then
    return false
  end
  local last, mine = leases[i] or redis.call('zrange', KEYS[i], '-2', '-1', 'withscores'), false
  leases[i] = last
  for k = #last - 1, 1, -2 do
    local ends = tonumber(last[k + 1])
    if ends > now and token_of(last[k]) ~= token then
      return true, ends
    end
    mine = mine or ends > now
  end
  return not mine
end

-- How many clients hear a channel; nil if the user may not publish there.
local function hearers(how, channel)
  if heard[channel] == nil then
    heard[channel] = publish(how, channel, '') or false
  end
  return heard[channel] or nil
end

-- Reports whether an entry is of a live waiter with another token, which has to go first.
local function is_before(text, token)
  local _, its, how, _, _, channel, names, at = parts_of(text)
  return tonumber(its or 0) > now and token_of(string.sub(text, at + channel + names)) ~= token
    and hearers(how, string.sub(text, at, at + channel - 1)) ~= 0
end

-- Reports whether a waiter for KEYS[i] is in the way of a writer. Only the one right before it
-- counts: that one waits for the ones before it.
local function is_behind_anybody(i, place, token)
  local before = '(' .. place
  before = redis.call('zrevrangebyscore', KEYS[n + i], before, '-inf', 'limit', '0', '1')[1]
  return before and is_before(before, token)
end

-- Reports whether a waiter for KEYS[i] is in the way of a reader. A reader waits for a writer, also
-- if others stand between them. A long front of readers is not searched: then the waiter asks.
local function is_behind_writer(i, place, token)
  if writers[i] == nil then
    writers[i] = false
    local texts = redis.call('zrange', KEYS[n + i], '0', '63', 'withscores')
    for k = 1, #texts, 2 do
      local _, _, how = parts_of(texts[k])
      if not how or string.sub(how, 1, 1) == 'w' then
        writers[i] = {text = texts[k], place = tonumber(texts[k + 1])}
        break
      end
    end
  end
  local first = writers[i]
  return first and first.place < tonumber(place) and is_before(first.text, token)
end

-- Finds the entry of a waiter in the line of KEYS[i]. nil if it stands there never or more than
-- once.
local function find(i, id, place)
  local texts = redis.pcall('zrevrangebyscore', KEYS[n + i], place, place)
  local text = texts[1]
  if text and not texts[2] and string.sub(text, 1, #id + 1) == id .. '|' then
    return text
  end
end

-- Writes an entry anew in the line of KEYS[i]. The new entry is added before the old one goes: if
-- that is the last in its line, the line's TTL would go with it.
local function extend(i, place, old, new)
  local line = KEYS[n + i]
  if not kept[i] then
    redis.call('zrem', line, '') -- a script that has written is not refused for want of memory
    if redis.call('pttl', line) < 1.5 * LIFE then -- never less: guards in it may live longer
      redis.call('pexpire', line, '' .. 2 * LIFE)
    end
    kept[i] = true
  end
  if new ~= old then
    redis.call('zadd', line, place, new)
    redis.call('zrem', line, old)
    if writers[i] and writers[i].text == old then
      writers[i].text = new
    end
  end
end

-- When a waiter for KEYS[i], which is held, has to ask: the first in line when the lease is over.
-- nil if it is not the first, or is asked for again before.
local function lease_over(i, id, ends)
  if not heads[i] then
    heads[i] = token_of(redis.call('zrange', KEYS[n + i], '0', '0')[1])
  end
  local rest = heads[i] == id and (ends and ends - now or redis.call('pttl', KEYS[i])) or -1
  if rest == -1 or rest >= ASKS_AGAIN then
    return nil
  end
  return math.max(rest, 0)
end

-- The parts of an entry after the id that matter here: until when it is alive, `how`, and where its
-- channel and its value are.
local PART = '^(%d+)|([wr][ps][f-][h-]%a*)|%d+|%d+|(%d+)|(%d+)|()'

-- Looks after the waiter for the keys ARGV[first..last]. Returns when it has to ask by itself, or
-- nil.
local function confirm(id, place, first, last)
  local stands, free, ms = true, true, nil
  for k = first, last do
    local i = tonumber(ARGV[k])
    local text = find(i, id, place)
    local its, how, channel, names, at = string.match(text or '', PART, #id + 2)
    if not its then
      stands = false
    else
      extend(i, place, text, id .. till .. string.sub(text, #id + #its + 3))
      if k == first and (hearers(how, string.sub(text, at, at + channel - 1)) or 0) == 0 then
        stands = false
      end
      if free then
        local token = token_of(string.sub(text, at + channel + names))
        local reads = string.sub(how, 1, 1) == 'r'
        local is, ends = is_held(i, reads, token)
        if is then
          free, ms = false, lease_over(i, id, ends)
        elseif reads then
          free = not is_behind_writer(i, place, token)
        else
          free = not is_behind_anybody(i, place, token)
        end
      end
    end
  end
  if free or not stands then
    return 0
  end
  return ms
end

local reply, at, index = {micros}, 5, 1
while at <= #ARGV do
  local last = at + 2 + ARGV[at + 2]
  local ms = confirm(ARGV[at], ARGV[at + 1], at + 3, last)
  if ms then
    reply[#reply + 1], reply[#reply + 2] = index, ms
  end
  at, index = last + 1, index + 1
end
return reply
