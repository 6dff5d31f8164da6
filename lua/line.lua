-- Waiting in line; it stands in the scripts where they include it, behind values.lua, fence.lua,
-- entry.lua and guard.lua.

-- How many lock keys the script has; behind them in KEYS are as many lines, and fences if `fenced`.
local size, fenced = #KEYS, false

local places -- of the lock keys in KEYS, by name; made when it is needed
local woken = {} -- ids of those who were told to ask again
local plans = {} -- what wanted_by has found, by id; false: not all of it is among KEYS
local waiting = {} -- ids of those who go on waiting, until somebody is dropped: looked at once
local tell_first = {} -- lines, whose first waiters have to be told that they are
local dropped = false -- somebody was dropped, whom others may have waited for
local caller, told = nil, {} -- the caller's channel, and what it is told in the reply

local function entry_of(text, place)
  local id, till, mode, how, number, first, ttl, keys, channel, names, at =
    string.match(text, ENTRY)
  if not id then
    -- Nobody's: dropped like one that is dead. If it stayed, or failed the script, nobody behind it
    -- would ever get the key.
    return {text = text, till = 0}
  end
  names = at + channel + names
  return {
    text = text, place = place, id = id, till = tonumber(till),
    mode = mode == 'w' and 'write' or 'read',
    sharded = how == 's', fenced = number == 'f', first = first == 'h',
    ttl = ttl, keys = tonumber(keys),
    channel = string.sub(text, at, at + channel - 1),
    names = string.sub(text, at + channel, names - 1),
    value = string.sub(text, names),
  }
end

-- Publishes to a waiter and returns how many hear it: none if its process is gone, nil if that is
-- not known because the user of this script may not publish. Then the script goes on: the waiter
-- asks by itself, a little later.
local function tell(entry, message)
  if entry.channel == caller then
    if message ~= '' then
      told[#told + 1] = message
    end
    return 1
  end
  local heard
  if entry.sharded then
    heard = redis.pcall('spublish', entry.channel, message)
  else
    heard = redis.pcall('publish', entry.channel, message)
  end
  return type(heard) == 'number' and heard or nil
end

-- A part of the line of KEYS[i], as ZRANGE gives it; nothing if something else is there, or if
-- KEYS[i] is an intent: a clean-up names that as its own line, for nobody waits for it.
local function in_line(i, ...)
  local line = KEYS[size + i]
  local texts = line ~= KEYS[i] and redis.pcall('zrange', line, ...) or {}
  return texts.err and {} or texts
end

-- Reports whether anybody may stand in any line of the script.
local function anybody_waits()
  for first = size + 1, 2 * size, CHUNK do
    if redis.call('exists', unpack(KEYS, first, math.min(first + CHUNK - 1, 2 * size))) > 0 then
      return true
    end
  end
  return false
end

-- Drops an entry out of the line of KEYS[i]: its waiter is dead. One that stood first, or may have,
-- was to ask when the lease before it is over: whoever is first now has to be told.
local function drop(i, text, first)
  redis.call('zrem', KEYS[size + i], text)
  dropped = true
  tell_first[i] = tell_first[i] or first or nil
end

-- Visits the living of a line in order and drops the dead, up to the first guard. `visit` is given
-- the mode, the text and the place of an entry, and the text of the one behind; it returns whether
-- that is enough, and whether it has removed the entry.
local function walk(i, now, visit)
  local from, step = 0, 2 -- most lines are only asked for their first
  repeat
    local texts = in_line(i, from, from + step - 1, 'withscores')
    for t = 1, #texts, 2 do
      local text = texts[t]
      local place = tonumber(texts[t + 1])
      if place >= GUARDS then
        if place < GUARDS + (math.floor(now / 1000) + 1) * NUMBERS then
          drop_ended_guards(KEYS[size + i], now)
        end
        return
      end
      local _, till, mode = string.match(text, ENTRY)
      if tonumber(till or 0) <= now then -- or nobody's
        drop(i, text, from == 0)
      else
        local enough, removed = visit(mode, text, place, texts[t + 2])
        if enough then
          return
        end
        from = removed and from or from + 1
      end
    end
    local all = #texts < 2 * step
    step = 64
  until all
end

-- The waiter for KEYS[i] that a token which wants it in `mode` has to let go first; nil if there
-- is none before `place`, or at all. One that nobody hears is dropped.
local function waiter_before(i, mode, token, place, now)
  local found
  walk(i, now, function(other, text, its_place)
    if place and its_place >= place then
      return true
    end
    if mode == 'read' and other == 'r' then
      return false
    end
    local entry = entry_of(text, its_place)
    if token_of(entry.value) == token then
      return false
    end
    if tell(entry, '') ~= 0 then
      found = entry
      return true
    end
    drop(i, text, true)
    return false, true
  end)
  return found
end

local function refusal_by_waiter(i, entry, now)
  return refusal(i, 'queue', entry.till - now, metadata_of(entry.value))
end

-- Finds a waiter's entry in the line of KEYS[i]; without its place everybody there is looked at.
local function entry_at(i, id, place)
  local from, to = '-inf', '+inf'
  if place then
    from = string.format('%d', place)
    to = from
  end
  for _, text in ipairs(in_line(i, from, to, 'byscore')) do
    if string.sub(text, 1, #id + 1) == id .. '|' then
      return entry_of(text, place or tonumber(redis.call('zscore', KEYS[size + i], text)))
    end
  end
  return nil
end

-- Takes a waiter out of the line of KEYS[i], as often as it stands there: a late request may have
-- entered it once more. Returns in which mode it wanted the key, nil if it did not stand there.
local function leave_line(i, id, place)
  local mode
  repeat
    local entry = entry_at(i, id, place)
    if entry then
      mode = entry.mode
      redis.call('zrem', KEYS[size + i], entry.text)
    end
  until not entry
  return mode
end

-- What wanted_by finds for one who wants several keys; false if they are not all among KEYS.
local function plan_of(entry)
  if not places then
    places = {}
    for j = 1, size do
      places[KEYS[j]] = j
    end
  end
  local home = entry
  if not entry.first then
    local j = places[entry.names]
    home = j and entry_at(j, entry.id, entry.place)
    if not home then
      return false
    end
  end
  local where, modes, at = {}, {}, 1
  while at <= #home.names do
    local mode, length, start = string.match(home.names, '^([wr])(%d+):()', at)
    at = start + length
    local j = places[string.sub(home.names, start, at - 1)]
    if not j then
      return false
    end
    where[#where + 1] = j
    modes[j] = mode == 'w' and 'write' or 'read'
  end
  return {where = where, modes = modes}
end

-- The keys of a waiter met at KEYS[i], as places in KEYS, and the modes in which it wants them;
-- nil if they are not all there. Asked for once for each waiter: a set may have thousands of keys.
local function wanted_by(entry, i)
  if entry.keys == 1 then
    return {i}, {[i] = entry.mode}
  end
  local plan = plans[entry.id]
  if plan == nil then
    plan = plan_of(entry)
    plans[entry.id] = plan
  end
  if plan then
    return plan.where, plan.modes
  end
end

-- What 'h' tells the next in line after one whose lease has begun: as part of its message if that
-- goes to the same channel, else by itself. nil if it is not known who that is.
local function tell_next(entry, text, now)
  if tonumber(entry.ttl) >= ASKS_AGAIN then
    return ''
  end
  local behind = text and entry_of(text)
  if not behind or behind.till <= now then
    return nil
  end
  if behind.channel == entry.channel then
    return '|' .. behind.id .. '|' .. entry.ttl
  end
  tell(behind, 'h|' .. behind.id .. '|' .. entry.ttl)
  return ''
end

-- Gives a waiter its locks, and tells it. `number`: the one that it is to have, if it is fenced.
local function grant(entry, where, modes, behind, now, micros, number)
  local alone = {}
  for _, i in ipairs(where) do
    leave_line(i, entry.id, entry.place) -- first: SET alone may be refused for want of memory
  end
  for _, i in ipairs(where) do
    if modes[i] == 'write' then
      redis.call('set', KEYS[i], entry.value, 'px', entry.ttl)
      alone[i] = true
    else
      alone[i] = redis.call('exists', KEYS[i]) == 0
      add_reader(KEYS[i], entry.value, now + entry.ttl, now)
    end
    tell_first[i] = true
  end
  if entry.fenced then
    next_number(2 * size, where, alone, token_of(entry.value), number, entry.ttl)
  end
  local rest
  if entry.keys == 1 and entry.mode == 'write' then
    rest = tell_next(entry, behind, now)
    tell_first[where[1]] = not rest or nil
  end
  tell(entry, string.format('g|%s|%d|%d%s', entry.id, micros, number, rest or ''))
end

-- Lets a waiter met in the line of KEYS[i] have its keys, or ask for them if they are not all among
-- KEYS, as soon as nothing is in its way here. Returns 'granted', 'waits' or 'gone'.
local function admit(entry, i, behind, now, micros)
  if waiting[entry.id] then
    return 'waits'
  end
  local where, modes = wanted_by(entry, i)
  local token, ready = token_of(entry.value), where and (fenced or not entry.fenced)
  for _, j in ipairs(where or {i}) do
    local mode = modes and modes[j] or entry.mode
    local refused, held = look(j, mode, token, entry.value, now)
    if refused or j ~= i and waiter_before(j, mode, token, entry.place, now) then
      waiting[entry.id] = where and true or nil
      return refused and j == i and 'blocked' or 'waits'
    end
    ready = ready and not held -- who holds a part already is left to do it itself
  end
  -- If there can be no number it is told to ask: the reply says why.
  local number = ready and entry.fenced and number_after(2 * size, where, micros)
  ready = ready and number ~= nil
  -- Whether anybody hears it has to be known beforehand: what is published reaches those as well
  -- who hear a replica, and are not counted. They are not to hear of a grant that is taken back.
  local heard = woken[entry.id] and 1 or tell(entry, ready and '' or 'w|' .. entry.id)
  if ready and heard and heard > 0 then
    grant(entry, where, modes, behind, now, micros, number or 0)
    return 'granted'
  end
  if heard ~= 0 then
    woken[entry.id] = not ready
    waiting[entry.id] = where and true or nil -- it is met again in the line of each of its keys
    return 'waits'
  end
  for _, j in ipairs(where or {i}) do
    leave_line(j, entry.id, entry.place)
    tell_first[j] = true
  end
  return 'gone'
end

-- Lets those at the front of the line of KEYS[i] have it, as far as they can: one writer, or the
-- readers before the first writer.
local function serve(i, now, micros)
  local readers_only = false
  walk(i, now, function(mode, text, place, behind)
    if readers_only and mode == 'w' then
      return true
    end
    local entry = entry_of(text, place)
    local outcome = admit(entry, i, behind, now, micros)
    if outcome == 'blocked' then
      return true -- the key itself is held: for readers behind, too
    end
    if outcome == 'waits' then
      readers_only = true
      return entry.mode == 'write'
    end
    if outcome == 'gone' then
      dropped = dropped or entry.keys > 1
      return false, true
    end
    return entry.mode == 'write', true
  end)
end

-- Tells the first of each line that needs it when to ask again: when the lease before it is over.
local function tell_heads(now)
  for i in pairs(tell_first) do
    local text = in_line(i, 0, 0)[1]
    local entry = text and entry_of(text)
    local left = entry and redis.call('pttl', KEYS[i]) or -2
    if left >= 0 and left < ASKS_AGAIN and entry.till > now then
      tell(entry, 'h|' .. entry.id .. '|' .. left)
    end
  end
end

-- Hands over whatever of the script's keys can be had now; those in `same` are as they were. A
-- script that has dropped somebody does this as well, also if it was refused: whoever stood behind
-- may be next.
local function hand_over(now, micros, same)
  repeat
    dropped, waiting = false, {}
    for i = 1, size do
      if not (same and same[i]) then
        serve(i, now, micros)
      end
    end
    same = nil
  until not dropped
  tell_heads(now)
end
