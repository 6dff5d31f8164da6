-- The head of a call: what every script is given first. Empty arguments at the end are left out.
--
-- ARGV[1]  value: `token` or `token|metadata`
-- ARGV[2]  ttl, ms
-- ARGV[3]  shape of the set: nothing for one key to write, `n` for n keys to write; else
--          `n|w|letters`: the first w of n keys are to be written, and the letters say more:
--            b  the number of the hold is the last of a block: BLOCK come before it
--            c  the stamp has guards to set
--            f  the set is fenced: behind its lines stand as many fences
--            k  read keys that the token writes stay what they are
--            n  no lease is shortened
--            s  a reader is searched for under other metadata as well, see readers.lua
-- ARGV[4]  stamp, see guard.lua
--
-- KEYS     the n lock keys; their n lines; n fences if the set is fenced; then what the script
--          says; and at the end lines in which only guards are to be set
--
-- A run pays for each function that it makes, and for each argument that it reads. So what a script
-- includes, this head too, is put above the first paragraph that needs it, and a short cut may end
-- the run before. On Redis 7.0.15 a number as an argument of a command costs 1 µs more than the same
-- as text, and a reply with a score costs 2 µs more than one without.

local KEYS, ARGV = KEYS, ARGV -- a local name is found faster

local value, ttl, shape, stamp = ARGV[1], ARGV[2], ARGV[3] or '', ARGV[4] or ''
local n, letters = shape == '' and 1 or tonumber(shape), ''
local w = n
if not n then
  n, w, letters = string.match(shape, '^(%d+)|(%d+)|(%a*)$')
  n, w = tonumber(n), tonumber(w)
end
