// Package fencing is the resource's side of fencing numbers: it refuses the late write of somebody
// who had the lock once and does not know yet that it is over.
//
// A lock with a lease cannot stop a holder that was paused: the lease ends, another has the lock
// and writes, then the first one wakes up and finishes its own write. Only the resource can refuse
// that. So every hold gets a number that is greater than every number given before for any of its
// keys, the holder sends it with each write, and the resource remembers the greatest that it has
// seen and refuses smaller ones:
//
//   - a service that is the resource itself: [Guard], or [Guard.Handler] behind a request [Header];
//   - a value in Redis: [Set];
//   - a row of a database: a column for the number, and a condition in the UPDATE that writes; see
//     the example named sql.
//
// In all of them comparing and writing are one step. To compare first and write afterwards leaves
// the gap that fencing is there to close.
//
// # What is guaranteed
//
// Once a number was admitted for a resource, no write with a smaller one is, as long as the
// resource has its memory. Equal numbers are admitted: it is the same holder, who may come again.
// Nothing orders the writes of one hold among themselves.
//
// # What is not
//
//   - A stale write that comes before the first write of the newer holder is admitted: the
//     resource has not heard of the newer one. A holder whose write depends on what it reads does
//     both in one [Guard.Do], or reads the row after it has updated the number alone. With [Set] it
//     writes over what came in between.
//   - A resource that has lost its memory admits whoever comes first: a Guard after a restart, a
//     key of Redis that has expired or was deleted or evicted, a fail-over that lost the newest
//     write, a backup put back. Keep the number where the data is, so that both are lost together.
//   - Numbers can be compared if one lock server gave them for locks that share a key. So all
//     writers of a resource lock the same key for it. Numbers of different servers are ordered no
//     better than their clocks are.
//   - Readers that hold a lock together have different numbers. Guard writes, not reads, or the
//     newest reader shuts the others out.
//   - A number is not a secret and proves nothing. It is against delays, not against attackers: a
//     writer that makes up a great number shuts out everybody else.
package fencing
