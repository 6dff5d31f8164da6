-- Guards against requests that are executed late.
--
-- A request that was not answered may be executed at any later moment: after its retry, after the
-- release, within the next hold. A guard says of an owner: nothing below this number is executed.
-- It is a member of a line, with the id of the owner for a name. Its score is GUARDS + second of
-- its end * NUMBERS + number, so guards stand behind all places. A request looks for the guard of
-- its owner in its home line, which is the line of its first key.
--
-- The stamp of a request is `id|number|`: the id of its owner, and its number. Then comes
-- `id|number|line|` for each guard that it sets before it does its work; the line is a place in
-- KEYS. A request without a stamp has the token for the id, and the number 0.

-- Reports whether a later request of the owner was executed before this one: then this one may
-- change nothing. If something else is where the line should be, no guard can stand there. If the
-- user may not ask, the script fails: otherwise a late request would be executed.
local function overtaken(set)
  local score = redis.pcall('zscore', set.home, set.owner)
  if type(score) == 'table' and string.sub(score.err, 1, 9) ~= 'WRONGTYPE' then
    redis.call('zscore', set.home, set.owner) -- it fails once more, and the script with it
  end
  local rest = type(score) == 'string' and score - GUARDS or -1
  if rest < 0 then
    return false
  end
  local number = rest % NUMBERS
  return number > set.number and (rest - number) / NUMBERS > set.now / 1000
end

-- Reports whether the lines do not matter: nobody stands in them, and the owner has no guard.
local function only_guards(set)
  for i = set.n + 1, 2 * set.n do
    local front = redis.pcall('zrange', KEYS[i], '0', '0', 'withscores')
    if front.err or front[2] and tonumber(front[2]) < GUARDS then
      return false
    end
  end
  return not redis.pcall('zscore', set.home, set.owner) -- `overtaken` handles an error
end

-- Puts back what ZPOPMIN has taken out of a line, which has lost its TTL if it was empty meanwhile.
local function put_first(line, text, score)
  redis.call('zadd', line, score, text)
  if redis.call('pttl', line) < 0 then
    redis.call('pexpire', line, (GUARD_LIFE + 1) * 1000) -- it may have been a guard
  end
end

-- Drops the guards of a line that have ended.
local function drop_ended_guards(line, now)
  local first = GUARDS + (math.floor(now / 1000) + 1) * NUMBERS
  redis.call('zremrangebyscore', line, string.format('%d', GUARDS), string.format('(%d', first))
end

-- Sets one guard. If memory is short, or the user may not run PEXPIRE, a guard might be left for
-- ever in a line without a TTL. So each command that may be refused is tried first where it changes
-- nothing.
local function set_guard(line, id, number, now)
  drop_ended_guards(line, now) -- a script that has written is not refused for want of memory
  local rest = (redis.call('zscore', line, id) or 0) - GUARDS
  number = math.max(number, rest >= 0 and rest % NUMBERS or 0)
  local score = GUARDS + (math.floor(now / 1000) + GUARD_LIFE) * NUMBERS + number
  local line_ttl, life = redis.call('pttl', line), (GUARD_LIFE + 1) * 1000
  if line_ttl == -2 then
    redis.call('zadd', line, 'xx', '0', id)
    redis.call('pexpire', line, life)
  end
  redis.call('zadd', line, string.format('%d', score), id)
  if line_ttl < life then
    redis.call('pexpire', line, life)
  end
end

-- Sets the guards of the stamp. A script that `takes` is refused for want of memory before it has
-- written anything.
local function close(set, takes)
  for id, number, line in string.gmatch(set.closes, '([^|]+)|(%d+)|(%d+)|') do
    line = KEYS[tonumber(line)]
    if takes then
      redis.call('zadd', line, 'xx', '0', '')
    end
    set_guard(line, id, tonumber(number), set.now)
  end
end
