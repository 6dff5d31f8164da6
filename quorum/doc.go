// Package quorum takes one lock at a majority of independent servers (Redlock).
//
//	client, err := quorum.New([]*redislock.Client{a, b, c}) // of three servers that share nothing
//	if err != nil {
//		return err
//	}
//	defer client.Close()
//	lock, err := client.Obtain(ctx, []string{"order:7", "stock:9"}, 10*time.Second, nil)
//	if err != nil {
//		return err // errors.Is(err, redislock.ErrNotObtained): it says how many nodes were had, and why not more
//	}
//	defer lock.Release(ctx)
//
// [Client.With] does the same around a function and keeps the leases alive while it runs.
//
// # When to use it, and when not
//
// It is for locks that have to survive the loss of a server, at once and without a fail-over. If a
// lock saves work, a single server will do: when it is down nobody can have the lock, or for a
// moment two have it. If a primary with replicas is there anyway, [redislock.Options].Replicas keeps
// a fail-over from losing locks, at the price that a replica that is down holds everything up. An
// even number of nodes buys nothing: of four, three are needed, and one may fail, as of three.
//
// Redlock is disputed. Martin Kleppmann's criticism was that it gives no number with which a
// resource could refuse a late write, and that its safety rests on bounded pauses, delays and clock
// errors, which nobody can promise. Salvatore Sanfilippo answered that the time that passes while
// the lock is taken is measured, that clocks which only drift suffice, and that any lock with a
// lease has the trouble with pauses after that. What is not disputed is that a majority of
// independent servers survives the loss of a minority without losing a lock. Nor is it that a
// holder which is paused, or a server clock which jumps, can still make two holders of one lock.
// Where that would do damage the answer is [redislock.Options].Fenced and a resource that compares
// the numbers, with one server as with five: see package fencing.
//
// # How it is done
//
// All nodes are asked at once, each for the whole set in one step, each with the node time-out
// ([WithNodeTimeout]). When a majority has granted it the lock is there; those who are late join it.
// When a majority has become impossible everything is released, everywhere, also where the answer
// never came: there its [redislock.Client] clears up again and again.
//
// Obtain, Refresh and Release return as soon as a majority that answers has decided, whatever the others
// do. These get their requests all the same, and what they do with them is seen to in the background.
// So after a Release, or an Obtain without success, a slow node may hold the keys for another
// moment: until its grant has arrived here, and its release there. It refuses them to whoever asks
// meanwhile. That decides nothing as long as the others are a majority. If one of them is missing, too, the
// slow node would be needed, and an Obtain may be refused although the lock is free: by chance, as when
// votes are split, and the next attempt of its RetryStrategy may have it. Within one Client the next
// Obtain of the same keys (of the same first write key, or of the same Token) waits for this at the slow
// node, and there only, for up to half of the node time-out.
//
// A lock is held as long as a majority of its leases runs, each counted from before its request was
// sent: [Lock.Deadline] is that of the node that would be the last to leave a majority. With the
// watchdog each node renews its own, and nodes that never had the lock, or have lost it, are asked
// for it every third of the ttl, while the others are a majority. When no majority is left the lock
// is lost for good, and what is left of it is released.
//
// A node that has not answered in time is suspected: it is not needed to decide, as long as the others can
// be enough, and a single request tries whether it is back. It is, for those who have as much time as
// that request took: a node that is too slow for the node time-out of a short lease is still one for
// longer leases. So a minority that is down, hangs or is slow costs the node time-out once, when it is
// needed, and otherwise nothing. One that is far, but answers in time, is waited for only if the others
// do not decide. While too few are not suspected all of them are waited for.
//
// # What is promised
//
//   - A returned lock is live until [Lock.Deadline]: a majority of the nodes holds all its keys. Two
//     locks that conflict never have overlapping windows, as long as no server forgets a lock and no
//     clock jumps: their majorities share a node, and it has granted one of them only.
//   - Loss is told: when fewer than a majority hold the lock [Lock.Context] is cancelled with cause
//     [redislock.ErrLockLost], no later than the Deadline.
//   - Any minority of the nodes may be lost, at any time, and locks stay held, are renewed, obtained
//     and released.
//   - Nothing is left behind, on any node that can be reached before the lease is over.
//   - Errors are those of package redislock, one for each fact.
//
// # What is not
//
//   - A server that restarts without its data has forgotten its locks, and grants them again: with the
//     rest of a majority that is a second holder. [WithQuarantine] leaves it out until all it may have
//     forgotten is over. Persistence with appendfsync always does so, too, as long as the disk keeps
//     its word. So does FLUSHALL, eviction, and a node that is itself replicated and fails over,
//     against which a quarantine does not help.
//   - A server whose clock jumps ahead ends its leases early: the same. [Lock.Fence] still grows.
//   - Work that begins inside a window can end after it.
//   - Fairness: nobody queues. Of those who ask at the same time perhaps nobody gets a majority; the
//     jitter of each wait sees to it that soon one does.
//   - Upgrade, Downgrade, and counting: two majorities that both read share nodes, so they are no
//     measure of how many there are.
//
// # Fencing
//
// With [redislock.Options].Fenced each node gives a number, the lock has the greatest of them, and
// that one is written back to a majority before Obtain returns; if it cannot be, the lock is not
// obtained. The next lock has a majority as well, so it has a node that knows the number, and gives
// a greater one: numbers grow for each key. That holds while all servers keep what they have stored.
// One that loses it begins anew at its clock, and if it was the only node that two majorities had in
// common, the number is greater only if no clock was ahead of it by more than the time in between. So
// keep clocks together, and numbers on disk. Numbers of other servers cannot be compared.
//
// # The price of a quarantine
//
// Each acquisition asks each server for an INFO, which one server does 65 000 times a second instead
// of 93 000, and needs the right to (+info). After each restart, also one that has kept its data,
// a node is missing for longest, and it takes one node less to lose the majority. The time since
// the restart is taken from the server's wall clock, in seconds: one that is set forward ends the
// quarantine early. No ttl may be longer.
//
// The hooks of a node's Client tell of each node by itself. Each operation costs a request to each
// node, all at once: with five nodes on one machine obtain and release take three to four times as
// long as with one, on machines of their own hardly longer.
package quorum
