-- Commands for many keys, each run for a part of them.

-- The strings at n of KEYS, behind the first `behind`; false where there is no string.
local function strings(n, behind)
  behind = behind or 0
  if n <= CHUNK then
    return redis.call('mget', unpack(KEYS, behind + 1, behind + n))
  end
  local all = {}
  for first = 1, n, CHUNK do
    local last = math.min(first + CHUNK - 1, n)
    local part = redis.call('mget', unpack(KEYS, behind + first, behind + last))
    for i = 1, #part do
      all[first + i - 1] = part[i]
    end
  end
  return all
end

-- How many of KEYS[first..last] exist.
local function count(first, last)
  local all = 0
  for i = first, last, CHUNK do
    all = all + redis.call('exists', unpack(KEYS, i, i + CHUNK > last and last or i + CHUNK - 1))
  end
  return all
end

-- Deletes the first n keys of a list.
local function delete(keys, n)
  for first = 1, n, CHUNK do
    redis.call('del', unpack(keys, first, math.min(first + CHUNK - 1, n)))
  end
end

-- Deletes a key that may have very many members. Where the server can, it frees them later, beside
-- its work.
local function unlink(key)
  if type(redis.pcall('unlink', key)) == 'table' then -- an older server, or the user may not
    redis.call('del', key)
  end
end

-- Gives KEYS[1..n], which are held, to the next owner.
local function give(n, value, ttl)
  redis.call('pexpire', KEYS[1], ttl) -- first: SET alone may be refused for want of memory
  for i = 1, n do
    redis.call('set', KEYS[i], value, 'px', ttl)
  end
end

-- Takes KEYS[first..last], which are free: MSETNX of the whole set, then every key its TTL. MSETNX
-- cannot be undone. If there is no memory, or the user may not run PEXPIRE, or the ttl is out of
-- its range, keys would be left that are locked for ever. So all that is tried beforehand, with
-- commands that do nothing to a key that does not exist.
local function take_free(first, last, value, ttl)
  local call = redis.call
  if first == last then
    return call('set', KEYS[first], value, 'px', ttl)
  end
  call('set', KEYS[first], value, 'px', ttl, 'xx') -- first: behind PEXPIRE memory is not asked for
  call('pexpire', KEYS[first], ttl)
  for from = first, last, CHUNK do
    local pairs_of_chunk, at = {}, 0
    for i = from, from + CHUNK > last and last or from + CHUNK - 1 do
      pairs_of_chunk[at + 1], pairs_of_chunk[at + 2], at = KEYS[i], value, at + 2
    end
    call('msetnx', unpack(pairs_of_chunk))
  end
  for i = first, last do
    call('pexpire', KEYS[i], ttl)
  end
end
