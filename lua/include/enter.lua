-- How a waiter enters its lines: a part of rw.lua, which reads the same ARGV.

-- The last place in a line, or 0; and what stands in the line: nil for nothing, 'guards' for guards
-- alone, else 'waiters'. `known`: the last score, as text, if it has been asked for.
local function last_place(line, known, now)
  local place = known or redis.call('zrange', line, '-1', '-1', 'withscores')[2]
  if not place or tonumber(place) < GUARDS then
    return tonumber(place or 0), place and 'waiters'
  end
  drop_ended_guards(line, now)
  local below = string.format('(%d', GUARDS)
  place = redis.call('zrevrangebyscore', line, below, '-inf', 'withscores', 'limit', '0', '1')[2]
  return tonumber(place or 0), 'guards'
end

-- Whether somebody waits before a waiter that enters a line in which this stands, as place_in_lines
-- says. A waiter that enters behind guards alone is the first.
local function is_waited(there)
  return there == 'waiters' or there == 'renewed'
end

-- The parts of ARGV[7]: `how`, ttl, size of the set, and the channel.
local function my_parts()
  local how, ttl, keys, length, at = string.match(ARGV[7], '^([^|]*)|(%d+)|(%d+)|(%d+)|%d+|()')
  return how, ttl, keys, string.sub(ARGV[7], at, at + length - 1)
end

-- The entries of a waiter that counts as alive until then: for its first key, for the other keys to
-- write, and for the other keys to read.
local function my_entries(set, id, value, w, till)
  local home = id .. '|' .. till .. '|' .. ARGV[7] .. value
  if set.n == 1 then
    return home
  end
  local how, ttl, keys, channel = my_parts()
  how = string.sub(how, 2, 3) .. '-'
  return home, w > 1 and entry_text(id, till, 'w' .. how, ttl, keys, channel, KEYS[1], value),
    w < set.n and entry_text(id, till, 'r' .. how, ttl, keys, channel, KEYS[1], value)
end

-- The one of these entries that stands in the line of KEYS[i].
local function my_entry(i, w, home, writes, reads)
  return i == 1 and home or i <= w and writes or reads
end

-- Whether somebody hears the channel of the waiter. A waiter that enters behind others does not
-- ask: it has just subscribed.
local function is_heard()
  local how, _, _, channel = my_parts()
  local heard
  if string.sub(how, 2, 2) == 's' then
    heard = redis.call('spublish', channel, '')
  else
    heard = redis.call('publish', channel, '')
  end
  return heard > 0 and 1 or 0
end

-- Where a waiter comes to stand that has no place yet: at the moment of its arrival, `age` (less
-- than nothing, in µs) before now. It is the same place in all lines, and nobody else's in any of
-- them. If the clock has gone back, it is behind all others. `last`: of the first line, see
-- last_place. Returns the place, and what stands in each line: as last_place says; 'renewed' for
-- waiters of whom one has renewed the TTL of the line in this second; 'behind' for waiters of whom
-- one came later.
local function place_in_lines(set, age, last)
  local n, now, micros = set.n, set.now, set.micros
  local at, lasts, there = math.max(micros + age, 1), {}, {}
  local this_second = micros - micros % 1000000
  for i = 1, n do
    lasts[i], there[i] = last_place(KEYS[n + i], i == 1 and last, now)
    if lasts[i] > micros then
      at = math.max(at, lasts[i] + 1)
    end
  end
  repeat
    local moved = false
    for i = 1, n do
      local its = string.format('%d', at)
      if lasts[i] == at or lasts[i] > at and redis.call('zcount', KEYS[n + i], its, its) > 0 then
        at, moved = at + 1, true
      end
    end
  until not moved
  for i = 1, n do
    -- A place is a moment. A waiter that came in this second has entered in this second.
    if there[i] == 'waiters' and lasts[i] > at then
      there[i] = 'behind'
    elseif there[i] == 'waiters' and lasts[i] >= this_second and lasts[i] < this_second + 1000000 then
      there[i] = 'renewed'
    end
  end
  return at, there
end

-- Enters the lines of a set with the first w keys to be written, in this place. `there`: what stands
-- in each line, as place_in_lines says; nothing if the waiter has had the place before.
local function enter_lines(set, id, value, w, place, there)
  local n, now = set.n, set.now
  local call, proved = redis.call, false
  local score, life = string.format('%d', place), '' .. 2 * LIFE
  local home, writes, reads = my_entries(set, id, value, w, now + LIFE)
  for i = 1, n do
    local line, text = KEYS[n + i], my_entry(i, w, home, writes, reads)
    local rest = (not there or there[i] == 'guards') and call('pttl', line)
    if not proved and (rest == -2 or not rest and not there[i]) then
      -- Nothing happens here. But if the user may not do it, it fails here and not after ZADD,
      -- which would leave a line without a TTL.
      call('pexpire', line, life)
      proved = true
    end
    call('zadd', line, score, text)
    if not (there and there[i] == 'renewed') and not (rest and rest >= tonumber(life)) then
      -- guards live longer
      call('pexpire', line, life)
    end
  end
end
