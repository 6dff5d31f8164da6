-- Waiting in line.

-- A script begins to drop a waiter that is gone only while it has dropped fewer entries than this:
-- one set may have as many entries as it has keys. If more are to be dropped it stops, and says so
-- at the end of its reply: then the caller has a script go on.
local MOST_GONE = 500

-- Adds to a set what a script knows of the waiters for its keys, what it has done with the keys,
-- and which waiters it has told what.
local function with_lines(set)
  set.fronts = {} -- the first two of lines, as they were read; nil if they may be others by now
  set.heads = {} -- the first of lines from which a waiter was taken out, if it is known
  set.plans = {} -- what wanted_by has found, by id; false: not all of it is among KEYS
  set.tell_first = {} -- lines with a first waiter that has to be told so
  set.told = {} -- what set.caller, the channel of the caller, is told in the reply
  set.gone = 0 -- entries that were dropped
  -- Also: set.dropped, a waiter was dropped that others may have waited for; set.more, too many are
  -- gone; set.unheard, the id of a waiter if it is known that nobody hears its channel.

  set.free = {} -- keys that are free
  set.written = {} -- the tokens that write keys now
  set.read = {} -- the tokens that now read keys which were free before
  set.held_for = {} -- for how long keys are held at least
  set.numbered = {} -- keys for which a waiter was given a fencing number
  set.woken = {} -- ids of waiters that were told to ask again
  set.told_heads = {} -- by id: in how many ms the lease is over that a waiter was told of
end

-- Counts the entries of a waiter that is to be dropped, and reports whether it may be dropped.
local function may_drop(set, entries)
  set.more = set.more or set.gone >= MOST_GONE
  set.gone = set.gone + (set.more and 0 or entries)
  return not set.more
end

local function entry_of(text, place)
  local id, till, how, ttl, keys, channel, names, at = parts_of(text)
  if not id then
    -- Nobody's entry: it is dropped like a dead one. If it stayed, or failed the script, no waiter
    -- behind it would ever get the key.
    return {text = text, till = 0}
  end
  names = at + channel + names
  return {
    text = text, place = place, id = id, till = tonumber(till), how = how,
    mode = string.sub(how, 1, 1) == 'w' and 'write' or 'read',
    fenced = string.sub(how, 3, 3) == 'f',
    ttl = ttl, keys = tonumber(keys),
    channel = string.sub(text, at, at + channel - 1),
    names = string.sub(text, at + channel, names - 1),
    value = string.sub(text, names),
  }
end

-- Publishes to a waiter and returns how many hear it. It is none if the process of the waiter is
-- gone, and nil if the user of this script may not publish. Then the script goes on: the waiter
-- asks by itself, a little later.
local function tell(set, entry, message)
  if entry.id == set.unheard then
    return 0
  elseif entry.channel == set.caller then
    if message ~= '' then
      set.told[#set.told + 1] = message
    end
    return 1
  end
  return publish(entry.how, entry.channel, message)
end

-- A part of the line of KEYS[i], as ZRANGE gives it. It is empty if something else is there. It is
-- also empty if KEYS[i] is an intent: a clean-up gives that as its own line, for nobody waits for
-- it.
local function in_line(set, i, ...)
  local line = KEYS[set.n + i]
  local texts = line ~= KEYS[i] and redis.pcall('zrange', line, ...) or {}
  return texts.err and {} or texts
end

-- Finds a waiter's entry in the line of KEYS[i]. Without its place it looks at the whole line.
local function entry_at(set, i, id, place)
  local from, to = '-inf', '+inf'
  if place then
    from = string.format('%d', place)
    to = from
  end
  for _, text in ipairs(in_line(set, i, from, to, 'byscore')) do
    if string.sub(text, 1, #id + 1) == id .. '|' then
      return entry_of(text, place or tonumber(redis.call('zscore', KEYS[set.n + i], text)))
    end
  end
  return nil
end

-- Takes a waiter out of the line of KEYS[i]. Without its place it removes every entry of the
-- waiter: a late request may have entered it once more. Returns in which mode it wanted the key,
-- nil if it did not stand there.
local function leave_line(set, i, id, place)
  local mode
  set.fronts[i] = nil
  repeat
    local entry = entry_at(set, i, id, place)
    if entry then
      mode = entry.mode
      redis.call('zrem', KEYS[set.n + i], entry.text)
    end
  until place or not entry
  return mode
end

-- What wanted_by finds for a waiter of several keys; false if they are not all among KEYS.
local function plan_of(set, entry)
  local home, places = entry, set.places
  if not places then
    places = {} -- the places of the lock keys in KEYS, by name
    for j = 1, set.n do
      places[KEYS[j]] = j
    end
    set.places = places
  end
  if string.sub(entry.how, 4, 4) ~= 'h' then
    local j = places[entry.names]
    home = j and entry_at(set, j, entry.id, entry.place)
    if not home or not home.id then -- it has gone, or somebody has spoiled it
      return false
    end
  end
  local where, modes, names, at = {}, {}, home.names, 1
  local find, sub = string.find, string.sub
  while at <= #names do
    local colon = find(names, ':', at, true)
    local length = colon and tonumber(sub(names, at + 1, colon - 1))
    local j = length and places[sub(names, colon + 1, colon + length)]
    if not j then
      return false
    end
    where[#where + 1] = j
    modes[j] = sub(names, at, at) == 'w' and 'write' or 'read'
    at = colon + length + 1
  end
  return {where = where, modes = modes, home = home}
end

-- The keys of a waiter met at KEYS[i], as places in KEYS, and the modes in which it wants them; nil
-- if they are not all there. Found once for each waiter: a set may have thousands of keys.
local function wanted_by(set, entry, i)
  if entry.keys == 1 then
    return {i}, {[i] = entry.mode}
  end
  local plan = set.plans[entry.id]
  if plan == nil then
    plan = plan_of(set, entry)
    set.plans[entry.id] = plan
  end
  if plan and plan.modes[i] then -- else it does not name this key, and is taken out of this line
    return plan.where, plan.modes
  end
end

-- The entry of a waiter met in the line of KEYS[i], as it most likely stands in the line of
-- KEYS[j].
local function text_at(set, j, entry, i)
  local plan = set.plans[entry.id]
  if j == i or not plan then
    return entry.text
  end
  local home, mode = plan.home, plan.modes[j]
  if j == plan.where[1] then
    return home.text
  end
  if not plan[mode] then
    local how = (mode == 'write' and 'w' or 'r') .. string.sub(home.how, 2, 3) .. '-'
      .. string.sub(home.how, 5)
    plan[mode] = entry_text(home.id, home.till, how, home.ttl, home.keys, home.channel,
      KEYS[plan.where[1]], home.value)
  end
  return plan[mode]
end

-- Takes a waiter that was met in the line of KEYS[i] out of the line of KEYS[j].
local function take_out(set, j, entry, i)
  local front, text = set.fronts[j] or {}, text_at(set, j, entry, i)
  if front[1] == text then
    set.heads[j] = front[3]
  else
    set.heads[j] = front[1]
  end
  set.fronts[j] = nil
  if redis.pcall('zrem', KEYS[set.n + j], text) ~= 1 then -- it is no line, or has another text
    leave_line(set, j, entry.id, entry.place)
    set.heads[j] = nil
  end
end

-- Drops a dead waiter, met in the line of KEYS[i], out of all its lines that the script has. If it
-- stood first, or may have, it was to ask when the lease before it is over. Now the waiter that is
-- first has to be told. Returns whether the dead one was dropped.
local function drop(set, i, entry, first)
  local tell_first = set.tell_first
  local where = entry.id and not set.more and wanted_by(set, entry, i) or {i}
  if not may_drop(set, #where) then
    return false
  end
  if entry.id then
    for _, j in ipairs(where) do
      take_out(set, j, entry, i)
      tell_first[j] = tell_first[j] or j ~= i or first or nil
    end
  else
    set.fronts[i] = nil
    redis.call('zrem', KEYS[set.n + i], entry.text)
    tell_first[i] = tell_first[i] or first or nil
  end
  set.dropped = true
  return true
end

-- Visits the live waiters of a line in order and drops the dead, up to the first guard. `visit` is
-- given whether an entry wants to write, its text and place, and the text of the next one. It
-- returns whether that is enough, and whether it has removed the entry. If too many were dropped,
-- the walk ends at the first dead entry that stays, and returns it.
local function walk(set, i, visit)
  local from, step = 0, 2 -- most walks need only the first
  repeat
    local texts = step == 2 and set.fronts[i]
      or in_line(set, i, from, from + step - 1, 'withscores')
    if step == 2 then
      set.fronts[i] = texts
    end
    for t = 1, #texts, 2 do
      local text = texts[t]
      local place = tonumber(texts[t + 1])
      if place >= GUARDS then
        if place < GUARDS + (math.floor(set.now / 1000) + 1) * NUMBERS then
          drop_ended_guards(KEYS[set.n + i], set.now)
        end
        return
      end
      local _, till, how = parts_of(text)
      if tonumber(till or 0) <= set.now then -- or nobody's
        local entry = entry_of(text, place)
        if not drop(set, i, entry, from == 0) then
          return entry
        end
      else
        local enough, removed = visit(string.sub(how, 1, 1) == 'w', text, place, texts[t + 2])
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

-- The waiter for KEYS[i] that has to go before a token which wants it in `mode`; nil if there is
-- none before `place`, or at all. A waiter that nobody hears is dropped. If it stays because too
-- many were dropped it counts as alive, because the waiters behind it are not known.
local function waiter_before(set, i, mode, token, place)
  local found
  local stays = walk(set, i, function(writes, text, its_place)
    if place and its_place >= place then
      return true
    end
    if mode == 'read' and not writes then
      return false
    end
    local entry = entry_of(text, its_place)
    if token_of(entry.value) == token then
      return false
    end
    if tell(set, entry, '') ~= 0 or not drop(set, i, entry, true) then
      found = entry
      return true
    end
    return false, true
  end)
  return found or stays
end

local function refusal_by_waiter(set, i, entry)
  return refusal(i, 'queue', math.max(0, entry.till - set.now), metadata_of(entry.value or ''))
end
