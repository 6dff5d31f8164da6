// Package multi takes one lock over several parts: sets of keys in different Cluster slots, or on
// different Clients.
//
//	lock, err := multi.Obtain(ctx, multi.BySlot(client, []string{"order:7", "stock:9"}, nil), 10*time.Second, nil)
//	if err != nil {
//		return err // errors.Is(err, redislock.ErrNotObtained): it names the part and the key
//	}
//	defer lock.Release(ctx)
//
// [With] does the same around a function and keeps every lease alive while it runs. [BySlot] makes
// the parts for a Cluster; for several servers the caller does: see [Part].
//
// # When to use it, and when not
//
// A set in one slot is better in every way: it is taken in one step, nobody ever sees a part of it,
// and it costs one trip where this package makes one for each part. On a Cluster a hash tag puts
// keys there, "{order:7}:stock", and on a single server all keys are there. This package is for
// keys that cannot be brought together: names that are given, or data on different servers.
//
// # How it is done
//
// The parts are taken one after the other, in an order that does not depend on how the caller gives
// them: by [Part].Place, then by slot. So of two that want the same parts one gets the first of
// them and goes on to the next, and nobody waits for each other in a circle. What one Client can
// take as one set becomes one part, so that no set spreads over two steps of the order: on a single
// server the parts of [BySlot] are one, at the cost of one.
//
// Each part is taken in one step. If one cannot be had, those before it are released, the last one
// first, and the whole begins anew when the RetryStrategy says so, until ctx ends.
//
// With [redislock.Options].Queue a part is waited for in line while those before it stay held, and
// their watchdog renews them: the order makes that safe, and the more parts there are before it, the
// more others are kept waiting as well. Put what is contended most at the place that comes first. It
// stays safe as long as whoever holds a lock and waits in line for another one takes both with this
// package.
//
// # What is promised
//
//   - A returned lock is live in all its parts, until [Lock.Deadline], the earliest of theirs. A part
//     of whose lease a third has passed while the others were taken is refreshed first.
//   - Two locks that conflict in a key are never held together: each part has the exclusion of
//     [redislock.Lock], and under the same conditions.
//   - Loss is told: with the loss of any part [Lock.Context] is cancelled with cause
//     [redislock.ErrLockLost], and [Lock.Lost] is closed. The other parts stay held, and renewed,
//     until Release.
//   - Nothing is left behind: an Obtain that fails, or whose context ends, releases what it has taken. A
//     server that does not answer does not keep the parts at others locked: see [Obtain].
//   - Errors are those of package redislock, one for each fact, with the part they concern.
//
// # What is not
//
//   - All or nothing in one step. Others may see a part held for a moment, find it refused, and find
//     it free again, which a set in one slot never shows. Readers of two parts can see one of them
//     before a change and the other after it, unless they lock both.
//   - Fairness over the whole. Who polls is not served in order; who waits in line is, in each part.
//   - One fencing number. Numbers are compared key by key, and each part has its own: [Lock.Parts].
//   - To go on without one of the servers: that is a quorum, not this. All parts are needed, so the
//     whole is available as often as all of them are together.
//   - Downgrade and Upgrade: two steps could end in between.
//
// The order holds between processes if all of them mean the same server by the same Place, and
// reach a server either as a Cluster or not. The hooks of a Client are told about each part by
// itself, and about each time that it is taken and given back.
package multi
