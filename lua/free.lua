-- How free keys are taken to write; it stands in the scripts where they include it.

-- Takes KEYS[first..last], which are free: MSETNX of the whole set, then every key its TTL. MSETNX
-- cannot be undone: if there is no memory, or the user may not run PEXPIRE, or the ttl is out of
-- its range, keys would be left that are locked for ever. So all that is tried beforehand, by
-- commands that do nothing to a key that does not exist.
local function take_free(first, last, value, ttl)
  local call = redis.call
  call('set', KEYS[first], value, 'px', ttl, 'xx')
  call('pexpire', KEYS[first], ttl)
  for from = first, last, CHUNK do
    local pairs_of_chunk = {}
    for i = from, math.min(from + CHUNK - 1, last) do
      pairs_of_chunk[#pairs_of_chunk + 1] = KEYS[i]
      pairs_of_chunk[#pairs_of_chunk + 1] = value
    end
    call('msetnx', unpack(pairs_of_chunk))
  end
  for i = first, last do
    call('pexpire', KEYS[i], ttl)
  end
end
