-- How keys are handed over to those who wait for them; it stands in the scripts where they include
-- it, behind line.lua.

local woken = {} -- ids of those who were told to ask again
local waiting = {} -- ids of those who go on waiting, until somebody is dropped: looked at once

-- What the script knows of keys because it has done it: free keys, the tokens that write keys now,
-- and for how long keys are held at least.
local free, written, held_for = {}, {}, {}
local read = {} -- the tokens that read keys now, of those that were free before
local numbered = {} -- keys for which it has given a fencing number to a waiter
local told_heads = {} -- by id, after how many ms the lease is over of which a waiter was told

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
    return '|' .. name_of(behind.id) .. '|' .. entry.ttl
  end
  tell(behind, 'h|' .. name_of(behind.id) .. '|' .. entry.ttl)
  return ''
end

-- Gives a waiter, met in the line of KEYS[i], its locks, and tells it. `number`: the one that it is
-- to have, if it is fenced.
local function grant(entry, i, where, modes, behind, now, micros, number)
  for _, j in ipairs(where) do
    take_out(j, entry, i) -- first: SET alone may be refused for want of memory
  end
  local reads, shared, ttl = {}, {}, tonumber(entry.ttl)
  for _, j in ipairs(where) do
    if modes[j] == 'write' then
      redis.call('set', KEYS[j], entry.value, 'px', entry.ttl)
      written[j] = token_of(entry.value)
    else
      local hash = with_fences and KEYS[2 * size + j]
      reads[j], shared[j] = true, not free[j] and redis.call('exists', KEYS[j]) == 1
      add_reader(KEYS[j], entry.value, now + ttl, now, not shared[j], hash)
      read[j] = read[j] or not shared[j] and {} or nil
      if read[j] then
        read[j][token_of(entry.value)] = true
      end
    end
    free[j], held_for[j] = nil, math.max(ttl, held_for[j] or 0)
    tell_first[j] = true
  end
  if entry.fenced then
    next_number(2 * size, where, reads, shared, token_of(entry.value), number, entry.ttl)
    for _, j in ipairs(where) do
      numbered[j] = true
    end
  end
  local rest
  if entry.keys == 1 and entry.mode == 'write' then
    rest = tell_next(entry, behind, now)
    tell_first[i] = not rest or nil
  end
  tell(entry, string.format('g|%s|%d|%d%s', entry.id, micros, number, rest or ''))
end

-- What keeps a token from holding KEYS[j] in `mode`, waiters apart; and what it holds there.
local function in_the_way(j, mode, token, value, now)
  if free[j] then
    return nil
  elseif written[j] and written[j] ~= token then
    return true
  end
  if read[j] and not read[j][token] then
    return mode == 'write'
  end
  return look(j, mode, token, value, now)
end

-- Lets a waiter met in the line of KEYS[i] have its keys, or ask for them if they are not all among
-- KEYS, as soon as nothing is in its way here. Returns 'granted', 'blocked' if the key is held,
-- 'waits', 'gone', or 'stays' if it is gone and too many were dropped.
local function admit(entry, i, behind, now, micros)
  if waiting[entry.id] then
    return 'waits'
  end
  local where, modes = wanted_by(entry, i)
  local token, ready = token_of(entry.value), where and (with_fences or not entry.fenced)
  for _, j in ipairs(where or {i}) do
    local mode = modes and modes[j] or entry.mode
    local refused, held = in_the_way(j, mode, token, entry.value, now)
    if refused or j ~= i and waiter_before(j, mode, token, entry.place, now) then
      waiting[entry.id] = where and true or nil
      return refused and j == i and 'blocked' or 'waits'
    end
    ready = ready and not held -- who holds a part already is left to do it itself
  end
  -- Whether anybody hears it has to be known beforehand: what is published reaches those as well
  -- who hear a replica, and are not counted. They are not to hear of a grant that is taken back.
  local heard = woken[entry.id] and 1 or tell(entry, ready and '' or 'w|' .. name_of(entry.id))
  if ready and heard and heard > 0 then
    local number = not entry.fenced and 0 or number_after(2 * size, where, micros)
    if number then
      grant(entry, i, where, modes, behind, now, micros, number)
      return 'granted'
    end
    ready = false
    tell(entry, 'w|' .. name_of(entry.id)) -- there can be none: when it asks, the reply says why
  end
  if heard ~= 0 then
    woken[entry.id] = not ready
    waiting[entry.id] = where and true or nil -- it is met again in the line of each of its keys
    return 'waits'
  end
  if not may_drop(where and #where or 1) then
    return 'stays'
  end
  for _, j in ipairs(where or {i}) do
    take_out(j, entry, i)
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
    if outcome == 'blocked' or outcome == 'stays' then
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

-- Tells a waiter that the lease before it is over in `left` ms, if it was not told so. Returns
-- whether that is enough: nobody else has to ask then. It is not if the waiter is gone, or reads
-- the key and waits for others as well, so that it may go on waiting.
local function tell_lease(entry, left)
  if told_heads[entry.id] ~= left then
    if tell(entry, 'h|' .. name_of(entry.id) .. '|' .. left) == 0 then
      return false
    end
    told_heads[entry.id] = left
  end
  return entry.mode == 'write' or entry.keys == 1
end

-- Tells the first of each line that needs it when to ask again: when the lease before it is over.
local function tell_heads(now)
  for i = 1, size do
    local left = held_for[i]
    local text = tell_first[i] and (not left or left < ASKS_AGAIN)
      and (heads[i] or (fronts[i] or in_line(i, '0', '0'))[1])
    local entry = text and entry_of(text)
    left = left or entry and redis.call('pttl', KEYS[i])
    if entry and left >= 0 and left < ASKS_AGAIN
      and not (entry.till > now and tell_lease(entry, left)) then
      local rest = MOST_TOLD
      walk(i, now, function(_, its, place)
        rest = rest - 1
        return rest < 0 or tell_lease(entry_of(its, place), left)
      end)
    end
  end
end

-- Hands over whatever of the script's keys can be had now; those in `same` are as they were. A
-- script that has dropped somebody does this as well, also if it was refused: whoever stood behind
-- may be next. Where more are to be dropped it stops, and the next script goes on.
local function hand_over(now, micros, same)
  seen, searches = nil, false -- a waiter that may read under other metadata asks by itself
  repeat
    dropped, waiting = false, {}
    for i = 1, size do
      local head = written[i] and heads[i]
      if more then
        break
      elseif head and token_of(entry_of(head).value or '') == written[i] or not written[i]
        and not (same and same[i]) then
        serve(i, now, micros)
      end
    end
    same = nil
    if not dropped then
      tell_heads(now)
    end
  until not dropped
end
