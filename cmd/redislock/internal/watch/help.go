package watch

// help is the page that explains.
const help = `redislock watch: keys and columns
up down j k  PgUp PgDn  g G   move
p or space                    pause: nothing is asked
h                             this page, and back
q or ctrl-C                   end
Sort by: S urgency, K key, M mode, O holder, H held, T ttl, W waiting,
         L longest wait, N hand-offs a second

HELD     by the clock of the holder; with > since it was first seen here
TTL      of the lease; none: it has no end, so the key is foreign: no lock
WAIT     in line; 3+2: two more are gone; i: a writer waits with an intent
LONGEST  wait of those in line, by the clock of the server
HANDED/S how often another had the key than at the look before, so it is more
! stuck  the first waits for 3 leases and more, and the holder is the same;
         others wait for a key that is foreign; or it is in a certain deadlock
~ slow   the first waits for 3 leases and more; nobody in line is alive; the
         line only grows; others wait for hours; foreign; a possible deadlock
The line above the last says why, for the key under the cursor.

A row is as old as the latest look at it. Those on the screen come first,
as often as the budget allows, then the others by turns.`
