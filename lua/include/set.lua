-- What a script knows of its set, from its head: a table that functions get. It has
--   n         how many lock keys there are
--   fences    the place in KEYS before the fences; nil without
--   searches  see readers.lua
--   owner     the id of its owner, `number` of the request, and the guards that it `closes`
--   home      the line in which the guard of its owner stands, if there is one
-- and from then on what other functions put there: `now` and `micros`, see clock; and what
-- number_after, look and with_lines say.
local function set_of(n, letters, stamp, value)
  local set = {n = n, owner = token_of(value), number = 0, closes = '', home = KEYS[n + 1]}
  if stamp ~= '' then
    local owner, number, at = string.match(stamp, '^([^|]+)|(%d+)|()')
    set.owner, set.number, set.closes = owner, tonumber(number), string.sub(stamp, at)
  end
  if letters ~= '' then
    set.fences = string.find(letters, 'f') and 2 * n
    set.searches = string.find(letters, 's')
  end
  return set
end
