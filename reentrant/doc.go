// Package reentrant lets the code that holds a lock obtain it again: a function that locks what it
// needs can be called by one that has locked it already.
//
//	ctx = reentrant.NewOwner(ctx) // once for each piece of work: a request, a job, a message
//
//	hold, err := reentrant.Obtain(ctx, client, []string{"order:7", "stock:9"}, 10*time.Second, nil)
//	if err != nil {
//		return err
//	}
//	defer hold.Release(ctx)
//	return restock(ctx) // obtains stock:9 under ctx: at once, without asking Redis
//
// [With] does the same around a function and keeps the lease alive while it runs: what most callers
// want.
//
// # When to use it, and when not
//
// Use it where functions that lock for themselves call one another, and neither can know what the
// other has locked. Where the caller can hand down what it holds, let it: a *redislock.Lock as a
// parameter says more than a context, and costs nothing. Do not use it
//
//   - to keep goroutines of one owner from each other: they hold everything together. Whoever is
//     to be kept out is given an owner of its own, by a [NewOwner] of its own. So NewOwner never
//     belongs into main or the base context of a server: all requests would be one owner, and
//     nobody would be kept from anything;
//   - to gather locks on the way. Whoever obtains more while holding something can wait for one
//     who does the same the other way round, until a context ends. Obtain all keys at once where
//     they are known, in one order where they are not, and bound the wait;
//   - across processes: a context ends at the border of its process.
//
// # How it works
//
// An owner has a table of the keys that it holds. A key stands there with the root lock
// ([redislock.Lock]) that carries it, in Redis and under a token of its own, its mode, and how many
// holds there are. An Obtain of keys that all stand there in a sufficient mode adds a [Hold] and
// sends nothing. Keys that do not are obtained as one set, by one redislock Obtain, with the options
// given. A key that is written may be read. A key that is read and is to be written is upgraded
// with the whole root lock that carries it ([redislock.Lock.Upgrade]): once, and if others read any
// of its keys the Obtain is refused. It stays a write key until it is free.
//
// A key is released with the last of its holds, in whatever order they end, also if others that were
// obtained with it are still held; its root lock is renewed by its watchdog until the last key of it
// is free. Its Redis keys, value, lease and fencing number are its own business: a further hold
// changes none of them, except that a longer ttl makes the lease longer.
//
// Locks are those of one [redislock.Client]: the same key obtained with another Client is another
// lock, and refused if both are of one server.
//
// # What is promised
//
//   - All or nothing: the keys that are missing are obtained together or not at all, and an Obtain
//     that fails leaves what was held as it was, except that a lease may have become longer and keys
//     may have become write keys.
//   - A key is held until the last of its holds is released, and free then.
//   - A hold is live when it is returned: no key of it was lost.
//   - Loss is told to every hold: its context ends with cause [redislock.ErrLockLost]. A lost key
//     cannot be obtained again by its owner, which is an ErrLockLost, too, until every hold of its
//     root lock was released. Whoever holds it outside would never learn that somebody else was
//     in between.
//   - Only ctx bounds how long an Obtain waits for one of the same owner that is obtaining, or
//     releasing, some of the same keys.
//
// # What is not
//
//   - An upgrade of more than one root lock is not one step. Nor are the missing keys and the
//     upgrade: others may see the missing ones locked by an Obtain that then fails.
//   - Everything that package redislock does not promise.
//
// Every lock obtained here is watched, with the watchdog or without, so that a loss is known: the
// Client has a goroutine meanwhile, and [redislock.Client.Close] declares such locks lost.
package reentrant
