// Package election chooses one leader among processes, by a lock of package redislock, and chooses the next
// one when it resigns or dies.
//
//	err := election.Elect(ctx, client, "leader:billing", 10*time.Second, func(ctx context.Context) error {
//		return bill(ctx) // runs in one process at a time; ctx ends when this one leads no longer
//	})
//
// Everything is in the lock of one key. The leader holds it, and the candidates stand in line for it, with
// [redislock.Options].Queue. So a leader that resigns hands over to the next candidate in the same request. If a
// leader dies, the next one is elected when its lease is over.
//
//   - [Elect] and [Candidate.Run] are for processes that want to lead.
//   - [Leader] tells who leads, and [Follow] tells each change. A process need not be a candidate for that.
//
// A term is the time for which one candidate leads. Each term has an id, which is the caller's id of the lock
// ([redislock.WithCaller]), and a fencing number that is greater than the numbers of all terms before. The
// function of the leader finds the id with [TermID], and the number in the lock: see [redislock.FromContext], or
// FromContext of package held.
//
// The promise is the promise of a lock: the windows of two leaders never overlap, and a window ends with the
// Deadline of the lock. Work that was begun inside of a window can end after it, because the process is paused or
// the network is slow. Where that would do damage, give the fencing number to the resource that the leader writes
// to, so that it can refuse an earlier leader: see package fencing.
//
// # What the function has to do
//
//   - Return soon when its ctx ends. It ends when the lock is lost (the cause is an ErrLockLost), no later than the deadline of
//     the lock, and when the ctx of Run ends. After a loss somebody else leads already, or soon. Run waits for the function, and
//     the process is a candidate again only when it has returned.
//   - Be ready to run again, in this process or in another one. It cannot know how much of its last step was done.
//   - Give the fencing number to everything that it writes to, if two leaders would do damage there. A process that was stopped
//     past its lease does not know that another one leads, and the first thing that it does can be its next write.
//
// # What happens when, and for how long nobody leads
//
//   - The function returns or panics, or the ctx of Run ends and the function has returned: Run resigns, and the next in line is
//     elected by the script that frees the key. A round trip.
//   - The leader is killed, or its machine dies: the next one is elected when the lease is over. Two thirds of the TTL to all of it.
//   - It is stopped, or cannot reach Redis, for longer than its lease: its ctx ends at the deadline, or when it wakes up; Lost is
//     called; it is a candidate again, behind the others. For less than that nothing happens.
//   - Nobody can reach Redis, or Redis refuses for the moment (LOADING, READONLY, NOREPLICAS, out of memory): the others go on
//     being candidates, and ask as RetryStrategy says, by default once a second.
//   - Somebody deletes the key, or calls Client.Break: the leader learns of it at the next renewal, a third of the TTL later at most;
//     after a Break at once with WithBreakNotices. Two lead until then, and each believes that it is alone.
//   - A fail-over that is shorter than what is left of the lease, and the replica has the lock: it leads on, under the same number.
//   - A fail-over or a restart that loses the lock: somebody else is elected. Two may lead until the next renewal of the first, unless
//     the Client has WithReplicas with the number of all replicas, or WithMinUptime of the TTL at least.
//
// # Errors
//
// Run asks again, without end, if the server is not ready or cannot be reached, after ErrUnknownOutcome and ErrNotReplicated, and if
// the server has no memory or cannot save. It returns bad arguments, whatever Redis refuses for good, a key that holds something
// that is no lock (ModeForeign), a closed Client, and errors of a Client that is not of this library. A loss is told to
// [Candidate].Lost, or to the Logger, and does not end it. A resignation that was not confirmed goes on in the background.
//
// # Terms
//
// Since of a [Term] is read from the fencing number, which is the moment at which it was given, in µs of the server's clock. It is too
// late if that clock was set back, and something else if somebody has raised the number. What [Follow] tells is past: a process must not
// act as the leader because Follow names it. Leader is one script that only reads, at each node; Follow asks once per interval. With
// WithReplicas or WithMinUptime a candidate can hold the key and give it back; Leader does not name it before its Obtain is over.
//
// # Over a quorum
//
// There is no order over several servers, so candidates do not stand in line: they ask again and again, as RetryStrategy says. Nobody
// leads after a resignation for up to one such wait; after a death for the rest of the lease and up to a wait. Leader and Follow are
// given the Clients of all nodes, and answer as soon as a majority has said the same. If too few nodes answer to be certain the
// result is an error, and not "nobody leads".
//
// # What it is not
//
// It is no guarantee that one process at a time acts: a request that a leader has sent can arrive later. It is no consensus. It is
// not fair by merit: the next in line leads. And it is no way to run something once: if one leader has finished a job, the next
// leader runs it again.
package election
