// Package locktest helps to test code that locks with redislock. It is for tests alone: it needs package
// testing, and brings a server that runs inside the test.
//
//	func TestShip(t *testing.T) {
//		client := locktest.New(t).Client()
//		// …
//	}
//
// [New] makes a [Server], which ends with the test. The code under test gets a [Server.Client], or makes
// a Client of its own from [Server.Redis]. The test plays everybody else:
//
//   - [Server.Hold] holds keys as somebody else would.
//   - [Server.Break] takes a lock from its holder, and [Server.Expire] ends its lease now.
//   - [Server.Refuse], [Server.Delay], [Server.Cut] and [Server.Drop] are faults of the next request;
//     [Server.Away] makes the server unreachable.
//   - [Server.AssertFree] fails the test if a lock was forgotten or somebody still waits. The end of each
//     test does that by itself.
//
// docs/testing.md says which of these shows which bug, and has three tests to copy.
//
// # Bubbles
//
// Everything works inside a bubble of [testing/synctest], too, in virtual time: a lease of ten seconds is
// over at once, if everybody waits for it. Call New inside, with the T of the bubble. Everything that uses
// the Server belongs to the same bubble.
//
// # A real server
//
// The same tests run on a real Redis or Valkey if the environment variable REDISLOCK_TEST_REDIS has its URL,
// such as redis://localhost:6379. Each Server takes one of its databases for itself, so tests and processes
// that run at the same time see nothing of each other, and keys have the same names as without a real server.
// It takes an empty database, never the database of the URL, and empties it afterwards. If a test was killed,
// the next one empties the database that it has left. If all are in use New waits, up to five minutes, so a
// test should not make more Servers than it needs. The server needs databases beside the one of the URL, so it
// cannot be a Cluster, and should be one for tests. The database of the URL stores which databases are in use,
// under names that begin with redislock:locktest:. All users of one server have to name the same database in
// their URL, because they do not see what is noted in another one. If others begin to use a database while a
// test has it, or after that test was killed, it is emptied, too: nobody can tell their keys from the keys of
// the test. A test that has lost its claim to a database, as after a long pause, fails and empties nothing.
//
// Inside a bubble there is no network. There the server in the test is used, whatever the variable says,
// and the log of the test says so.
//
// # What differs
//
// The server inside the test is miniredis. It has no Cluster, no replicas, no users and rights, and no
// limit of memory. So there
//
//   - with [redislock.WithReplicas] every Obtain is an ErrNotReplicated, with [redislock.WithMinUptime] an error;
//   - NOPERM, OOM, LOADING and READONLY come from [Server.Refuse] alone;
//   - errors that arise inside a script have other texts.
//
// A real server has its own clock, and takes real time. What happens at once or within moments takes
// milliseconds there.
package locktest
