// Package quorum takes one lock at a majority of independent servers (Redlock).
//
//	client, err := quorum.New([]*redislock.Client{a, b, c}) // of three servers that share nothing
//	if err != nil {
//		return err
//	}
//	defer client.Close()
//	lock, err := client.Obtain(ctx, []string{"lock:order:7", "lock:stock:9"}, 10*time.Second, nil)
//	if err != nil {
//		return err // errors.Is(err, redislock.ErrNotObtained): it says how many nodes were had, and why not more
//	}
//	defer lock.Release(ctx)
//
// [Client.With] does the same around a function and keeps the leases alive while the function runs. The
// function finds the lock, and with it the fencing number, by [FromContext].
//
// # When to use it, and when not
//
// Use it for locks that have to survive the loss of a server at once, without a fail-over. If a
// lock only saves work, a single server will do: when that server is down nobody can have the lock,
// or two have it for a moment. If there is a primary with replicas anyway,
// [redislock.WithReplicas] keeps a fail-over from losing locks, but one replica that is down
// then holds everything up. An even number of nodes gains nothing: four nodes need three and
// outlive the loss of one, as three nodes do.
//
// A majority of independent servers survives the loss of a minority without losing a lock. But if a
// holder is paused, or the clock of a server jumps, one lock can still have two holders. Where that
// would do damage, use [redislock.Options].Fenced and a resource that compares the numbers, as with
// a single server: see package fencing. docs/choosing.md has the debate about Redlock in five
// sentences.
//
// # How it is done
//
// The servers are called nodes here. Each operation asks all nodes at once, each for the whole set in
// one step and with the node time-out ([WithNodeTimeout]), and returns as soon as a majority has
// decided. The other nodes get their requests all the same, and their answers are dealt with in the
// background. Nodes that grant an Obtain later join the lock. When a majority has become impossible,
// everything is released everywhere. Where an answer never came, the [redislock.Client] of the node
// frees the keys again and again until it has an answer or the lease is over.
//
// So a slow node may hold the keys for a moment after a Release, or after an Obtain that has failed:
// until its grant has arrived here and the release has arrived there. Meanwhile it refuses the keys to
// everybody. That decides nothing as long as the other nodes are a majority. If one of these is down as
// well, an Obtain may be refused although the lock is free; its next attempt may succeed. Within one
// Client the next Obtain of the same keys waits for this at the slow node, and only there, for at most
// half of the node time-out. The same keys are the same first write key, or the same token of
// [Client.As].
//
// # Leases
//
// A lock is held as long as a majority of its leases runs. Each lease is counted from before its
// request was sent. Sort the nodes by the ends of their leases, the latest one first: [Lock.Deadline]
// is the end at the node that completes the majority. With the watchdog each node renews its own
// lease. Nodes that never had the lock, or have lost it, are asked for it every third of the ttl, as
// long as the others are a majority. When no majority is left the lock is lost for good, and the nodes
// that still have it release it.
//
// # How an Obtain waits
//
// An Obtain polls: it asks all nodes, releases the grants if they are too few, and waits as its
// RetryStrategy says. [redislock.Options].Wait bounds all of that together. The nodes are not told of
// it. The first attempt is made in any case, and has at least 100 ms for its answers. If the time is
// over while nodes have yet to answer, their requests are given up, as if the context had ended; but a
// lock that a majority has granted by then is returned. The error is an ErrWaitOver beside the
// ErrNotObtained, or beside the ErrUnknownOutcome if the nodes without an answer could have made the
// majority.
//
// # Nodes that do not answer
//
// A node that has not answered in time is suspected. As long as the other nodes can be enough it is
// not needed to decide, and a single request finds out whether it is back. It is back for operations
// that have as much time as that request took: a node that is too slow for the node time-out of a
// short lease is still a node for longer leases. While too few nodes are free of suspicion, operations
// wait for all nodes. So a minority that is down, hangs or is slow costs the node time-out once, when
// it is needed, and otherwise nothing. A node that is far away but answers in time is waited for only
// if the others do not decide.
//
// A request of an Obtain or a Release runs to its end in the Redis client of the node, if that client
// gives up within five times the node time-out, as it does by default. Nobody waits for it when the
// node time-out is over. But if the reply is lost, the clean-up at this node begins when the Redis
// client has given up, and until then the next lock of the same keys leaves this node out.
//
// # Attach and Break
//
// [Client.Attach] makes a handle for a lock that another Client, or another process, holds under a
// token of [Client.As]. Its operations need the same majority as the lock itself. It does not know how
// the keys are held, so it never asks a node to join in, and it gives nothing back by itself: if too
// few nodes confirm a Refresh, the other nodes keep what they have until it ends, or until somebody
// releases it.
//
// There is no Break for a quorum. Call [redislock.Client.Break] of the Client of each node, with the
// same keys and reason, one right after the other. The lock is broken when a majority of the nodes has
// done that. The holder learns of it at its next renewals, or at once if the Clients of its nodes
// listen ([redislock.WithBreakNotices]). Then the cause of its contexts is an ErrBroken with the
// reason. The holder then frees the keys at the other nodes, if it still runs. As long as it has a
// majority it wins back nodes that were broken, at the soonest a third of the ttl after they have told
// it. So break the lock at all nodes that can be reached.
//
// # What is promised
//
//   - A returned lock is live until [Lock.Deadline]: a majority of the nodes holds all its keys.
//     Two locks that conflict never have overlapping windows, as long as no server forgets a lock
//     and no clock jumps: their majorities share a node, and that node has granted one of them
//     only.
//   - The holder learns of a loss: when fewer than a majority hold the lock, [Lock.Context] is
//     cancelled with cause [redislock.ErrLockLost], no later than the Deadline.
//   - Any minority of the nodes may be lost, at any time. Locks then stay held, and are renewed,
//     obtained and released as before.
//   - Nothing is left behind on any node that can be reached before the lease is over.
//   - Keys that are left ([Lock.Leave], [redislock.Options].HoldAtLeast) stay taken for so long as
//     long as a majority has left them. When a node is asked to release, this process says by its
//     clock how long the keys stay; from then on the node counts by its own. If too few nodes have
//     left them, the Release returns an error. A node that does not hold the lock at that moment
//     has nothing to leave, and a grant that arrives later is given back at once. So is what is
//     left of an Obtain that fails, of a lost lock, and at a node that was won back too late.
//   - Errors are the errors of package redislock, one for each fact. An operation that too few nodes
//     have done returns a [NodeError] for each node that has not done it. [errors.As] finds the first
//     one, [NodeErrors] returns all of them. [errors.Is] does not look into them, because a lock is
//     not lost when one node says so.
//
// # What is not
//
//   - A server that restarts without its data has forgotten its locks and grants them again.
//     Together with the rest of a majority that makes a second holder. [redislock.WithMinUptime], at the Client of
//     every node, leaves such a server out until everything that it may have forgotten is over. Persistence with
//     appendfsync always does the same, as long as the disk keeps its word. Keys that were left are
//     forgotten like locks. FLUSHALL, eviction, and the fail-over of a node that is itself
//     replicated lose locks as well, and WithMinUptime does not help against these.
//   - If the clock of a server jumps ahead, its leases end early, which can also make a second
//     holder. [Lock.Fence] still grows.
//   - Work that begins inside a window can end after it.
//   - Fairness: there is no line. If several ask at the same time, perhaps nobody gets a majority.
//     Each wait has a jitter, so that one of them soon does.
//   - Upgrade, Downgrade, and counting readers: the majorities of two readers share nodes, so the
//     nodes do not tell how many readers there are.
//
// # Fencing
//
// With [redislock.Options].Fenced each node gives a number, and the lock has the greatest of them.
// Before Obtain returns, that number is written back to a majority. If that fails, the lock is not
// obtained. The next lock has a majority as well, so one of its nodes knows the number and gives a
// greater one. So the numbers of a key grow as long as all servers keep what they have stored.
//
// A server that loses its numbers begins anew at its clock. If two majorities had only
// this node in common, the second number is greater only if no clock was ahead of the node's clock by
// more than the time in between. So keep clocks together, and keep numbers on disk. Numbers of other
// servers cannot be compared.
//
// # The price of WithMinUptime
//
// With [redislock.WithMinUptime] each acquisition asks each server for an INFO. One server then does 65 000
// acquisitions a second instead of 93 000, and the user needs the right to INFO (+info). After each restart,
// even one that kept the data, the node is missing for that time, and the loss of one node less takes the
// majority away. The time since the restart is counted by the server's wall clock, in seconds; a clock that
// is set forward ends it early. No ttl, and no time for which keys are left, may be longer.
//
// # What it costs
//
// Each operation costs one request to each node, all at once. With five nodes on one machine obtain
// and release take three to four times as long as with one node; on machines of their own hardly
// longer.
//
// # What is told
//
// The hooks of [WithHooks] tell once what happens to a lock as a whole. The hooks of the Clients of the
// nodes tell what happens at each node: five nodes make five events of an Obtain, some of them after it
// has returned. Count locks with the hooks of this package, and look at servers with the hooks of the
// nodes. A renewal by the watchdog, a node that loses the lock while a majority has it, and a node that
// is won back are events of that node alone.
package quorum
