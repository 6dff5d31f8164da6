-- How keys are handed over to the next in line.

-- What 'h' tells the next in line when a waiter's lease has begun. It is part of that waiter's
-- message if it goes to the same channel, else a message by itself. nil if the next is not known.
local function tell_next(set, entry, text)
  if tonumber(entry.ttl) >= ASKS_AGAIN then
    return ''
  end
  local behind = text and entry_of(text)
  if not behind or behind.till <= set.now then
    return nil
  end
  if behind.channel == entry.channel then
    return '|' .. name_of(behind.id) .. '|' .. entry.ttl
  end
  tell(set, behind, 'h|' .. name_of(behind.id) .. '|' .. entry.ttl)
  return ''
end

-- Gives a waiter, met in the line of KEYS[i], its locks, and tells it. `number`: its fencing number
-- if it wants one.
local function grant(set, entry, i, where, modes, behind, number)
  local free, read, held_for = set.free, set.read, set.held_for
  for _, j in ipairs(where) do
    take_out(set, j, entry, i) -- first: SET alone may be refused for want of memory
  end
  local reads, shared, ttl = {}, {}, tonumber(entry.ttl)
  for _, j in ipairs(where) do
    if modes[j] == 'write' then
      redis.call('set', KEYS[j], entry.value, 'px', entry.ttl)
      set.written[j] = token_of(entry.value)
    else
      reads[j], shared[j] = true, not free[j] and redis.call('exists', KEYS[j]) == 1
      add_reader(set, j, entry.value, set.now + ttl, not shared[j])
      read[j] = read[j] or not shared[j] and {} or nil
      if read[j] then
        read[j][token_of(entry.value)] = true
      end
    end
    free[j], held_for[j] = nil, math.max(ttl, held_for[j] or 0)
    set.tell_first[j] = true
  end
  if entry.fenced then
    next_number(set, where, reads, shared, token_of(entry.value), number, entry.ttl)
    for _, j in ipairs(where) do
      set.numbered[j] = true
    end
  end
  local rest
  if entry.keys == 1 and entry.mode == 'write' then
    rest = tell_next(set, entry, behind)
    set.tell_first[i] = not rest or nil
  end
  tell(set, entry, string.format('g|%s|%d|%d%s', entry.id, set.micros, number, rest or ''))
end

-- What, apart from waiters, keeps a token from holding KEYS[j] in `mode`; and what it holds there.
local function in_the_way(set, j, mode, token, value)
  local writer, readers = set.written[j], set.read[j]
  if set.free[j] then
    return nil
  elseif writer and writer ~= token then
    return true
  end
  if readers and not readers[token] then
    return mode == 'write'
  end
  return look(set, j, mode, token, value)
end

-- Gives a waiter met in the line of KEYS[i] its keys as soon as nothing is in its way here; if they
-- are not all among KEYS it has the waiter ask. Returns 'granted', 'blocked' if the key is held,
-- 'waits', 'gone', or 'stays' if it is gone and too many were dropped.
local function admit(set, entry, i, behind)
  local waiting, woken = set.waiting, set.woken
  if waiting[entry.id] then
    return 'waits'
  end
  local where, modes = wanted_by(set, entry, i)
  local token, ready = token_of(entry.value), where and (set.fences or not entry.fenced)
  for _, j in ipairs(where or {i}) do
    local mode = modes and modes[j] or entry.mode
    local refused, held = in_the_way(set, j, mode, token, entry.value)
    if refused or j ~= i and waiter_before(set, j, mode, token, entry.place) then
      waiting[entry.id] = where and true or nil
      return refused and j == i and 'blocked' or 'waits'
    end
    ready = ready and not held -- a token that holds a part already does it itself
  end
  -- Whether anybody hears it has to be known beforehand. Subscribers at a replica get the message
  -- too, and are not counted: they must not hear of a grant that is taken back.
  local heard = woken[entry.id] and 1
    or tell(set, entry, ready and '' or 'w|' .. name_of(entry.id))
  if ready and heard and heard > 0 then
    local number = not entry.fenced and 0 or number_after(set, where, set.micros)
    if number then
      grant(set, entry, i, where, modes, behind, number)
      return 'granted'
    end
    ready = false
    tell(set, entry, 'w|' .. name_of(entry.id)) -- no number is possible: its next reply says why
  end
  if heard ~= 0 then
    woken[entry.id] = not ready
    waiting[entry.id] = where and true or nil -- it is met again in the line of each of its keys
    return 'waits'
  end
  if not may_drop(set, where and #where or 1) then
    return 'stays'
  end
  for _, j in ipairs(where or {i}) do
    take_out(set, j, entry, i)
    set.tell_first[j] = true
  end
  return 'gone'
end

-- Gives KEYS[i] to the first in its line, as far as they can have it: one writer, or the readers
-- before the first writer.
local function serve(set, i)
  local readers_only = false
  walk(set, i, function(writes, text, place, behind)
    if readers_only and writes then
      return true
    end
    local entry = entry_of(text, place)
    local outcome = admit(set, entry, i, behind)
    if outcome == 'blocked' or outcome == 'stays' then
      return true -- the key itself is held, and readers behind cannot have it either
    end
    if outcome == 'waits' then
      readers_only = true
      return entry.mode == 'write'
    end
    if outcome == 'gone' then
      set.dropped = set.dropped or entry.keys > 1
      return false, true
    end
    return entry.mode == 'write', true
  end)
end

-- Tells a waiter that the lease before it is over in `left` ms, if it was not told so. Returns
-- whether that is enough, so that nobody else has to ask then. It is not enough if the waiter is
-- gone. It is not either if the waiter reads the key and may go on waiting for other keys.
local function tell_lease(set, entry, rest)
  if set.told_heads[entry.id] ~= rest then
    if tell(set, entry, 'h|' .. name_of(entry.id) .. '|' .. rest) == 0 then
      return false
    end
    set.told_heads[entry.id] = rest
  end
  return entry.mode == 'write' or entry.keys == 1
end

-- Tells the first of each line that needs it when to ask again: when the lease before it is over.
local function tell_heads(set)
  for i = 1, set.n do
    local rest = set.held_for[i]
    local text = set.tell_first[i] and (not rest or rest < ASKS_AGAIN)
      and (set.heads[i] or (set.fronts[i] or in_line(set, i, '0', '0'))[1])
    local entry = text and entry_of(text)
    rest = rest or entry and redis.call('pttl', KEYS[i])
    if entry and rest >= 0 and rest < ASKS_AGAIN
      and not (entry.till > set.now and tell_lease(set, entry, rest)) then
      local tries = MOST_TOLD
      walk(set, i, function(_, its, place)
        tries = tries - 1
        return tries < 0 or tell_lease(set, entry_of(its, place), rest)
      end)
    end
  end
end

-- Hands over each of the script's keys that can be had now; keys in `same` are as they were. A
-- script that has dropped a waiter does this too, even if it was refused: the waiter behind may be
-- next. If more are to be dropped it stops, and the next script goes on.
local function hand_over(set, same)
  set.seen, set.searches = nil, false -- a token that may read under other metadata asks by itself
  repeat
    set.dropped, set.waiting = false, {} -- ids of those that go on waiting: looked at once
    for i = 1, set.n do
      if set.more then
        break
      elseif not set.written[i] and not (same and same[i]) then
        serve(set, i)
      end
    end
    same = nil
    if not set.dropped then
      tell_heads(set)
    end
  until not set.dropped
end

-- The reply of a script with lines: the last thing that it does. If it has dropped a waiter, what
-- that waited for is handed over, also if the script was refused. At the end of the reply stands
-- what the caller is told; and 'more' if not all waiters were dropped that are gone.
local function finished(set, reply)
  if set.dropped then
    hand_over(set)
  end
  local told = set.told or {}
  told[#told + 1] = set.more and 'more' or nil
  for _, message in ipairs(told) do
    reply = type(reply) == 'table' and reply or {reply}
    reply[#reply + 1] = message
  end
  return reply
end
