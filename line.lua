-- Waiting in line; it stands in the scripts where they include it, behind shared.lua, fence.lua and
-- entry.lua.

-- How many lock keys the script has: its KEYS are those, then as many lines (a key that can have
-- none stands for itself), then, if `fenced`, as many fences.
local size, fenced = #KEYS, false

local places -- of the lock keys in KEYS, by name; made when it is needed
local woken = {} -- ids of those who were told to ask again
local headless = {} -- lines whose first has to be told that it is
local dropped -- somebody was dropped, whom others may have waited for
local caller, told = nil, {} -- the caller's channel, and what it is told in the reply

local function entry_of(text, place)
  local id, till, mode, how, number, first, ttl, keys, channel, names, at =
    string.match(text, ENTRY)
  if not id then
    return {text = text, till = 0} -- nobody's: dropped like one that is dead
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

-- Publishes to a waiter and returns how many hear it: none if its process is gone.
local function tell(entry, message)
  if entry.channel == caller then
    told[#told + 1] = message
    return 1
  end
  if entry.sharded then
    return redis.call('spublish', entry.channel, message)
  end
  return redis.call('publish', entry.channel, message)
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

-- Visits the living of a line in order, with the text of the one behind, and drops the dead.
-- `visit` returns whether that is enough, and whether it has removed the entry.
local function walk(i, now, visit)
  local line = KEYS[size + i]
  local from, step = 0, 2 -- most lines are only asked for their first
  if line == KEYS[i] then
    return
  end
  repeat
    local texts = redis.call('zrange', line, from, from + step - 1, 'withscores')
    for t = 1, #texts, 2 do
      local entry = entry_of(texts[t], tonumber(texts[t + 1]))
      if entry.till <= now then
        redis.call('zrem', line, entry.text)
        dropped = true
      else
        local enough, removed = visit(entry, texts[t + 2])
        if enough then
          return
        end
        from = removed and from or from + 1
      end
    end
    local seen = #texts / 2
    local all = seen < step
    step = 32
  until all
end

-- The waiter for KEYS[i] that a token which wants it in `mode` has to let go first; nil if there
-- is none before `place`, or at all. One that nobody hears is dropped.
local function waiter_before(i, mode, token, place, now)
  local found
  walk(i, now, function(entry)
    if place and entry.place >= place then
      return true
    end
    if token_of(entry.value) == token or mode == 'read' and entry.mode == 'read' then
      return false
    end
    if tell(entry, '') > 0 then
      found = entry
      return true
    end
    redis.call('zrem', KEYS[size + i], entry.text)
    dropped = true
    return false, true
  end)
  return found
end

local function refusal_by_waiter(i, entry, now)
  return refusal(i, 'queue', entry.till - now, metadata_of(entry.value))
end

-- Finds a waiter's entry in the line of KEYS[i]; without its place everybody there is looked at.
local function entry_at(i, id, place)
  local line = KEYS[size + i]
  if line == KEYS[i] then
    return nil
  end
  local from, to = '-inf', '+inf'
  if place then
    from = string.format('%d', place)
    to = from
  end
  local texts = redis.call('zrange', line, from, to, 'byscore')
  for _, text in ipairs(texts) do
    if string.sub(text, 1, #id + 1) == id .. '|' then
      return entry_of(text, place or tonumber(redis.call('zscore', line, text)))
    end
  end
  return nil
end

-- Takes a waiter out of the line of KEYS[i]. Reports whether it stood there.
local function leave_line(i, id, place)
  local entry = entry_at(i, id, place)
  return entry ~= nil and redis.call('zrem', KEYS[size + i], entry.text) == 1
end

-- The keys of a waiter met at KEYS[i], as places in KEYS, and the modes in which it wants them;
-- nil if they are not all there.
local function wanted_by(entry, i)
  if entry.keys == 1 then
    return {i}, {[i] = entry.mode}
  end
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
      return nil
    end
  end
  local where, modes, at = {}, {}, 1
  while at <= #home.names do
    local mode, length, start = string.match(home.names, '^([wr])(%d+):()', at)
    at = start + length
    local j = places[string.sub(home.names, start, at - 1)]
    if not j then
      return nil
    end
    where[#where + 1] = j
    modes[j] = mode == 'w' and 'write' or 'read'
  end
  return where, modes
end

-- What 'h' tells the next in line after one whose lease has begun: as part of its message if that
-- goes to the same channel, else by itself.
local function tell_next(entry, text, now)
  local behind = text and tonumber(entry.ttl) < ASKS_AGAIN and entry_of(text)
  if not behind or behind.till <= now then
    return ''
  end
  if behind.channel == entry.channel then
    return '|' .. behind.id .. '|' .. entry.ttl
  end
  tell(behind, 'h|' .. behind.id .. '|' .. entry.ttl)
  return ''
end

-- Gives a waiter its locks, at once or not at all: returns false if nobody hears of it.
local function grant(entry, where, modes, behind, now, micros)
  local token, number = token_of(entry.value), 0
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
    headless[i] = true
  end
  if entry.fenced then
    number = next_number(2 * size, where, alone, token, micros)
  end
  local rest = ''
  if entry.keys == 1 and entry.mode == 'write' then
    rest = tell_next(entry, behind, now)
    headless[where[1]] = nil
  end
  local message = string.format('g|%s|%d|%d%s', entry.id, micros, number, rest)
  if tell(entry, message) > 0 then
    return true
  end
  for _, i in ipairs(where) do
    if modes[i] == 'write' then
      redis.call('del', KEYS[i])
    else
      redis.call('zrem', KEYS[i], entry.value)
      expire_with_last_reader(KEYS[i])
    end
  end
  if entry.fenced then
    forget_numbers(2 * size, where, token)
  end
  return false
end

-- Lets a waiter met in the line of KEYS[i] have its keys, or ask for them if they are not all among
-- KEYS, as soon as nothing is in its way here. Returns 'granted', 'waits' or 'gone'.
local function admit(entry, i, behind, now, micros)
  local where, modes = wanted_by(entry, i)
  local token, ready = token_of(entry.value), where and (fenced or not entry.fenced)
  for _, j in ipairs(where or {i}) do
    local mode = modes and modes[j] or entry.mode
    local refused, held = look(j, mode, token, entry.value, now)
    if refused or j ~= i and waiter_before(j, mode, token, entry.place, now) then
      return 'waits'
    end
    ready = ready and not held -- who holds a part already is left to do it itself
  end
  if ready then
    return grant(entry, where, modes, behind, now, micros) and 'granted' or 'gone'
  end
  if woken[entry.id] or tell(entry, 'w|' .. entry.id) > 0 then
    woken[entry.id] = true
    return 'waits'
  end
  for _, j in ipairs(where or {i}) do
    leave_line(j, entry.id, entry.place)
  end
  return 'gone'
end

-- Lets those at the front of the line of KEYS[i] have it, as far as they can: one writer, or the
-- readers before the first writer.
local function serve(i, now, micros)
  local readers_only = false
  walk(i, now, function(entry, behind)
    if readers_only and entry.mode == 'write' then
      return true
    end
    local outcome = admit(entry, i, behind, now, micros)
    if outcome == 'waits' then
      readers_only = true
      return entry.mode == 'write'
    end
    if outcome == 'gone' then
      dropped = dropped or entry.keys > 1
      headless[i] = true
      return false, true
    end
    return entry.mode == 'write', true
  end)
end

-- Tells the first of each line that needs it when to ask again: when the lease before it is over.
local function tell_heads(now)
  for i in pairs(headless) do
    local line = KEYS[size + i]
    local text = line ~= KEYS[i] and redis.call('zrange', line, 0, 0)[1]
    local entry = text and entry_of(text)
    local left = entry and redis.call('pttl', KEYS[i]) or -2
    if left >= 0 and left < ASKS_AGAIN and entry.till > now then
      tell(entry, 'h|' .. entry.id .. '|' .. left)
    end
  end
end

-- Hands over whatever of the script's keys can be had now.
local function hand_over(now, micros)
  repeat
    dropped = false
    for i = 1, size do
      serve(i, now, micros)
    end
  until not dropped
  tell_heads(now)
end
