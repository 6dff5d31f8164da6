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
// Each operation asks all nodes at once, each for the whole set in one step, and returns as soon as a
// majority has decided. Nodes that have not answered by then are dealt with in the background. So a
// slow node may hold the keys for a moment after a Release, or after an Obtain that has failed, and
// refuses them to others meanwhile. That decides nothing as long as the other nodes are a majority.
// If one of these is down as well, an Obtain may be refused although the lock is free; its next
// attempt may succeed.
//
// A node that does not answer within the node time-out ([WithNodeTimeout]) is not waited for again
// before it has answered a request in time, unless the other nodes are too few. So a minority that
// is down, hangs or is slow costs the node time-out once, and nothing after that.
//
// A lock is held as long as a majority of its leases runs. With the watchdog each node renews its
// own lease, and nodes that never had the lock or have lost it are asked for it again every third
// of the ttl. When no majority is left the lock is lost for good, and the rest of it is released.
// docs/quorum.md says more.
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
//   - Keys that are left ([Lock.Leave], [redislock.Options].HoldAtLeast) stay taken for so long: a
//     majority keeps them, each node by its own clock.
//   - Errors are the errors of package redislock, one for each fact. [NodeErrors] says what each node
//     has said.
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
// With [redislock.Options].Fenced the numbers of a key grow as long as all servers keep what they
// have stored. A server that loses its numbers begins anew at its clock. If two majorities had only
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
// longer. The hooks of a node's Client are called for that node by itself; the hooks of [WithHooks]
// for each lock as a whole.
package quorum
