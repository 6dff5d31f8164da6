// Package fencing is the resource's side of fencing numbers. It refuses the late write of a former
// holder that does not know yet that its lock is over.
//
// A lock with a lease cannot stop a holder that was paused: its lease ends, another holder obtains
// the lock and writes, and then the first one wakes up and finishes its own write. Only the
// resource can refuse that. So every hold has a number that is greater than every number given
// before for any of its keys. The holder sends the number with each write. The resource remembers
// the greatest number that it has seen, and refuses smaller ones:
//
//   - a service that is the resource itself uses [Guard], or [Guard.Handler] behind a request
//     [Header];
//   - a value in Redis is written with [Set];
//   - a row of an SQL database has a column for the number, and is written with [Exec].
//
// All of them compare and write in one step. If one compared first and wrote afterwards, the gap
// would stay that fencing has to close.
//
// # What is guaranteed
//
// Once a number was admitted for a resource, no write with a smaller number is admitted, as long as
// the resource keeps its memory. Equal numbers are admitted: they belong to the same holder, who may
// write again. Nothing orders the writes of one hold among themselves. The model in
// proof/models/lease tries this with holders that are paused between looking and writing.
//
// # What is not
//
//   - A stale write that comes before the first write of the newer holder is admitted, because the
//     resource has not heard of the newer holder yet. If a write depends on what the holder reads, do
//     both in one [Guard.Do]; or, in a database, first update the number of the row alone and then
//     read the row. With [Set] such a holder overwrites what was written in between.
//   - A resource that has lost its memory admits the first write that comes, even a stale one: a
//     Guard after a restart, a key of Redis that has expired or was deleted or evicted, a fail-over
//     that lost the newest write, a backup that was restored. Keep the number where the data is, so
//     that both are lost together.
//   - Two numbers can be compared if one lock server gave them for locks that share a key. So all
//     writers of a resource must lock the same key for it. The order of numbers of different
//     servers is no better than the order of their clocks.
//   - Readers that hold a lock together have different numbers. Guard writes, not reads; otherwise
//     the newest reader would shut the others out.
//   - A number is not a secret and proves nothing. It helps against delays, not against attackers:
//     a writer that makes up a great number shuts out everybody else.
package fencing
