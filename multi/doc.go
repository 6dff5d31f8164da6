// Package multi takes one lock over several parts: sets of keys in different slots of a Cluster, or
// on different Clients.
//
//	set := redislock.Set{Write: []string{"lock:order:7", "lock:stock:9"}}
//	lock, err := multi.Obtain(ctx, multi.BySlot(client, set), 10*time.Second, nil)
//	if err != nil {
//		return err // errors.Is(err, redislock.ErrNotObtained): it names the part and the key
//	}
//	defer lock.Release(ctx)
//
// [With] does the same around a function and keeps every lease alive while the function runs.
// [BySlot] makes the parts for a Cluster. For several servers the caller makes them: see [Part].
//
// # When to use it, and when not
//
// A set in one slot is better in every way: it is taken in one step, nobody ever sees a part of it,
// and it costs one round trip, where this package makes one for each part. On a Cluster a hash tag
// puts keys in one slot, "{order:7}:stock". On a single server all keys can be one set. This
// package is for keys that cannot be brought together, because their names are given or their data
// is on different servers.
//
// # How it is done
//
// The parts are taken one after the other, each in one step, in an order that does not depend on how
// the caller gives them: by [Part].Place, then by slot. So if two callers want the same parts, one
// gets the first part and goes on to the next. The other waits for the first part and holds no later
// one. Nobody waits in a circle.
//
// Parts that one Client can take as one set become one part, so that no set is spread over two steps
// of the order. On a single server the parts of [BySlot] therefore become one part, at the cost of one.
//
// If a part cannot be had, the parts before it are released, the last one first. Then Obtain begins
// anew when the RetryStrategy says so, until ctx ends. [redislock.Options].Wait bounds all of it
// together: all parts, all rounds, polling and standing in line. In the first round every part is
// asked for, however short the time is.
//
// With [redislock.Options].Queue the lock waits in line for a part while the parts before it stay
// held, and the watchdog renews them. The order makes that safe, but others wait all that time for
// the earlier parts as well. So put the most contended part at the place that comes first. A program
// that holds one lock and waits in line for another must take both with this package. If it takes one
// of them with [redislock.Client.Obtain], two such programs can wait for each other.
//
// A server that does not answer is given up after the ttl, or after one read time-out of its Redis
// client if that is longer. The parts that were taken are released before the error is returned. If a
// server does not answer then either, that takes 1.1 s in all, and its Client goes on in the
// background.
//
// At the end the parts are released, the last one first. [Lock.Leave] and
// [redislock.Options].HoldAtLeast keep all of them taken for a while instead. A round that has failed
// never leaves anything: what it has taken is free at once.
//
// # What is promised
//
//   - A returned lock is live in all its parts until [Lock.Deadline], the earliest of their
//     deadlines. If a third of the lease of a part has passed while the others were taken, that
//     part is refreshed before the lock is returned. All parts get the same ttl.
//   - Two locks that conflict in a key are never held together: each part has the exclusion of
//     [redislock.Lock], under the same conditions.
//   - The holder learns of a loss: when any part is lost, [Lock.Context] is cancelled with cause
//     [redislock.ErrLockLost], and [Lock.Lost] is closed. The other parts stay held, and renewed,
//     until Release.
//   - [Lock.Leave] and [redislock.Options].HoldAtLeast keep all parts taken when the lock ends.
//   - Nothing is left behind: an Obtain that fails releases what it has taken, also if its context
//     ends. If one server does not answer, the parts at the others do not stay locked: see
//     [Obtain].
//   - Errors are the errors of package redislock, one for each fact, with the part that they concern.
//
// # What is not
//
//   - All or nothing in one step. Others may see a part held for a moment, be refused it, and then
//     find it free again. A set in one slot never shows that. If somebody reads two parts without
//     locking both, one can be from before a change and the other from after it.
//   - Fairness over the whole lock. Callers that poll are not served in order. Callers that wait in
//     line are served in order in each part.
//   - One fencing number. Numbers are compared key by key, and each part has its own: [Lock.Parts].
//   - Availability without one of the servers. All parts are needed, so a lock is available only
//     while all servers are. Package quorum can do without a server.
//   - Downgrade and Upgrade: a failure between the parts would leave some of them changed.
//
// The order holds between processes if all of them use the same Place for the same server, and all
// of them reach that server as a Cluster or none does.
//
// # What it takes, and what it tells
//
// A part has a [*redislock.Client], and no other kind of Client. The order needs to know which keys the
// Client can take in one step, and where, and Obtain may stand in line for a part while it holds others. The
// Client of package quorum has neither slots nor lines.
//
// A function that [With] runs finds its lock with [FromContext], and in [Lock.Parts] the fencing number
// for each of its keys. [redislock.FromContext] does not find the locks of the parts. [Lock] is a Lock of
// package held, for code that does not care what it holds.
//
// All parts have the same caller's id, of [redislock.WithCaller]. While the lock holds some parts and
// stands in line for the next one, an observer finds the same id at both.
//
// The hooks of [Client] tell of each lock as one, with all its keys: obtained, refused, waiting, waited,
// refreshed, lost and released. A loss is told once, whatever is lost after that. The hooks of a part's
// Client tell of that part by itself, each time that it is taken and given back, and they alone tell of
// renewals by the watchdog. The functions [Obtain] and [With] do the same as a Client without hooks.
package multi
