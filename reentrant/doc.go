// Package reentrant lets the code that holds a lock obtain it again: a function that locks keys can
// be called by a function that has locked them already.
//
//	ctx = reentrant.NewOwner(ctx) // once for each piece of work: a request, a job, a message
//
//	hold, err := reentrant.Obtain(ctx, client, []string{"lock:order:7", "lock:stock:9"}, 10*time.Second, nil)
//	if err != nil {
//		return err
//	}
//	defer hold.Release(ctx)
//	return restock(ctx) // obtains lock:stock:9 under ctx: at once, without asking Redis
//
// [With] does the same around a function and keeps the lease alive while the function runs. It is
// what most callers want.
//
// # When to use it, and when not
//
// Use it where functions that lock for themselves call one another, and neither can know what the
// other has locked. If the caller can hand down the lock that it holds, it should: a
// [*redislock.Lock] as a parameter says more than a context, and costs nothing. Do not use this
// package
//
//   - to keep the goroutines of one owner from each other: they hold everything together. Two
//     goroutines that must exclude each other need two owners, each from a call of [NewOwner]. So
//     never call NewOwner in main or for the base context of a server: all requests would be one
//     owner, and would not exclude each other;
//   - to collect locks one by one. A caller that obtains more while it holds something can wait for
//     another one that does the same in the opposite order, until a context ends. Where all keys
//     are known, obtain them at once. Where they are not, obtain them in one order, and bound the
//     wait;
//   - across processes: a context ends at the border of its process.
//
// # How it works
//
// An owner has a table of the keys that it holds. For each key the table has the root lock that
// carries the key, its mode, and the number of its holds. A root lock is a [redislock.Lock], in
// Redis and under a token of its own.
//
// If all keys of an Obtain are in the table in a sufficient mode, the Obtain adds a [Hold] and sends
// nothing. Keys that are missing are obtained as one set, by one redislock Obtain, with the given
// options. A key that is held for writing may also be read. If a key is held for reading and the
// Obtain wants to write it, it is upgraded ([redislock.Lock.Upgrade]), together with the whole root
// lock that carries it. There is one attempt: if others read any of its keys the Obtain is refused.
// The key stays a write key until it is free.
//
// A key is released with the last of its holds, in whatever order they end, even if other keys that
// were obtained with it are still held. The watchdog renews a root lock until its last key is free.
// A further hold changes neither the value in Redis of a key nor its fencing number nor its lease,
// except that a longer ttl makes the lease longer.
//
// A function that [With] runs finds its hold with [FromContext]. Observers find the id of the owner
// at the keys that it holds, and at those it waits for: see [NewOwner].
//
// Root locks are obtained with a [*redislock.Client], and no other kind of Client: a part of a set has to
// be released by itself ([redislock.Lock.ReleaseKeys]), and read keys have to be upgraded. The locks of
// packages quorum and multi can do neither.
//
// Locks belong to one [redislock.Client]. With another Client the same key is another lock, and the
// Obtain is refused if both Clients are of one server.
//
// # What is promised
//
//   - All or nothing: the keys that are missing are obtained together or not at all. An Obtain that
//     fails leaves the keys that were held as they were, except that a lease may have become longer
//     and keys may have become write keys.
//   - A key is held until the last of its holds is released, and is free then.
//   - A hold is live when it is returned: none of its keys was lost.
//   - Every hold learns of a loss: its context ends with cause [redislock.ErrLockLost]. An owner
//     cannot obtain a lost key again until every hold of its root lock was released; until then the
//     error is an ErrLockLost, too. Otherwise the function that holds the key further out would
//     never learn that somebody else had it in between.
//   - If another goroutine of the same owner is obtaining or releasing some of the same keys, only
//     ctx and [redislock.Options].Wait bound how long an Obtain waits for it.
//
// # What is not
//
//   - Upgrades of several root locks in one step. The missing keys and an upgrade are not one step
//     either: others may see the missing keys locked by an Obtain that then fails.
//   - Everything that package redislock does not promise.
//
// Every lock that is obtained here is watched, even without the watchdog, so that a loss is known.
// So the Client has a goroutine meanwhile, and [redislock.Client.Close] declares such locks lost.
package reentrant
