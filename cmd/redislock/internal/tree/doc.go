// Package tree is the command that draws who waits for whom, and finds deadlocks. Its manual is docs/deadlocks.md, which says who
// counts as one caller or process, and what certain and possible deadlocks are. This is what stands behind that.
//
// # Who waits for whom
//
// A party is somebody who holds keys or waits for them: a caller, a token, a process, or a lock or a waiter of which nothing else is
// known.
//
// A request is one Obtain that waits. In the line of each of its keys it has the same place, which [redislock.Waiter.Since]
// shows, and the same metadata. It needs all its keys, and holds none of them before it has all. So it is enough that one of
// them is never freed. A request waits because of a key K
//
//   - for those who hold K: a writer for every holder, a reader for a writer alone;
//   - for the requests before it in the line of K: a writer for every one, a reader for those that are to write. One that is
//     gone (Alive is false) is passed over.
//
// An intent is the request of a writer that polls. It waits for the holders of the key and for everybody in its line.
// Nobody in line waits for it: an intent keeps out readers that poll, who leave nothing in Redis by which they could be seen.
// Nobody waits for a party because of a key that it has left: the end of the lease frees that one.
//
// Tokens are compared, and not shown. A key that is held under the token of a request is not in the way of that one. A user who
// may not run the script that compares them is told of fewer certain deadlocks.
//
// # Deadlocks
//
// A deadlock is a circle of these, with two parties or more. As a request needs all its keys, a circle is enough: nobody in
// it, and nobody who waits for one of them, can go on. It is certain if every party that holds something in it is a caller
//
//   - with one request at a time: one that waits twice has several goroutines;
//   - of one process, as far as the metadata tell: the id is not one that each process has;
//   - which waits in line: of a writer with an intent nobody knows whether it will ask again.
//
// A circle through places in line alone cannot be, because sets that overlap have the same order in all lines. So there is
// always somebody who holds something. A request without a caller's id that stands in several lines is known as one by its
// place and its metadata. Two requests of a process may have the same, if both were sent in one bundle; so such a request
// makes a circle certain only if the circle enters and leaves it by the same line.
//
// A caller that waits for a key that it holds itself is in a certain deadlock if its request has another token than that with
// which it holds the key; or, if tokens were not compared, if nothing else is in its way: under the same one it would not wait.
// Package reentrant never waits for what its owner holds. Of other parties that wait for themselves nothing is told: most likely
// another goroutine holds the key.
//
// # Looking three times
//
// What looks like a circle is read twice more. A request that was there the first time and the third time has waited all the
// while, and a caller that waits obtains nothing and releases nothing. So a key that it held the second time it has held
// throughout the second look: then all of the circle was there at the same moment.
package tree
