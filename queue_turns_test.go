package redislock_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// inTurn runs a scenario of a line: on real servers; and on a miniredis whose time passes only when
// nothing else can happen, so that a turn which takes any time at all is one that nobody was given.
// Who waits is in the same Client as the holders, or (other) in another one: then it hears of its turn
// by a message, not from a reply.
func inTurn(t *testing.T, fn func(t *testing.T, w, other *world)) {
	t.Helper()
	both := func(t *testing.T, b redistest.Backend) {
		t.Helper()
		w := newWorld(t, b)
		fn(t, w, w)
		w = newWorld(t, b)
		o := &world{rdb: b.Client(t), prefix: w.prefix}
		o.client = redislock.New(o.rdb)
		t.Cleanup(o.client.Close)
		fn(t, w, o)
	}
	t.Run("bubble", func(t *testing.T) {
		bubble(t, func(t *testing.T, _ *world, mini *redistest.Mini, _ *journal) { both(t, mini) })
	})
	for _, kind := range []redistest.Kind{redistest.Redis, redistest.Valkey} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			both(t, redistest.Shared(t, kind))
		})
	}
}

// A part names one who wants keys, each of one letter: capital letters to write.
type part = string

// modes sorts out which keys somebody wants to write and to read.
func (w *world) modes(p part) (write, read []string) {
	for _, r := range p {
		if key := string(r); r < 'a' {
			write = append(write, w.key(string(r-'A'+'a')))
		} else {
			read = append(read, w.key(key))
		}
	}
	return write, read
}

// hold takes what a part wants, at once.
func (w *world) hold(t *testing.T, p part) *redislock.Lock {
	t.Helper()
	write, read := w.modes(p)
	return must[*redislock.Lock](t)(w.client.ObtainMixed(t.Context(), write, read, long, queue()))
}

// lineUp has them stand in line, one after the other.
func (w *world) lineUp(t *testing.T, turns chan<- turn, parts ...part) {
	t.Helper()
	for _, p := range parts {
		w.standIn(t.Context(), t, turns, p)
	}
}

func (w *world) standIn(ctx context.Context, t *testing.T, turns chan<- turn, p part) {
	t.Helper()
	w.standWith(ctx, t, turns, p, p, queue())
}

// standWith has somebody stand in line for a part, under a name and with options of its own.
func (w *world) standWith(ctx context.Context, t *testing.T, turns chan<- turn, who string, p part, opt *redislock.Options) {
	t.Helper()
	write, read := w.modes(p)
	key := append(slices.Clone(write), read...)[0]
	n := len(must[[]redislock.KeyState](t)(w.client.Inspect(t.Context(), key))[0].Line)
	go func() {
		lock, err := w.client.ObtainMixed(ctx, write, read, long, opt)
		turns <- turn{who, lock, err}
	}()
	w.inLine(t, key, n+1)
}

// clear checks that nobody is left over, and nothing in Redis.
func (w *world) clear(t *testing.T, turns <-chan turn, locks ...*redislock.Lock) {
	t.Helper()
	for _, lock := range locks {
		noError(t, lock.Release(t.Context()))
	}
	wantNobody(t, turns)
	w.wantNoTrace(t, w.keys("a", "b", "c", "d")...)
}

func TestQueueTurns(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		holder part
		line   []part
		turns  [][]part // whom each release, and that of all who came in by the one before, lets in
	}{
		{"writers, one after the other", "A", []part{"A", "AB", "A", "BA"}, [][]part{{"A"}, {"AB"}, {"A"}, {"BA"}}},
		{
			"readers at the front go in together", "A",
			[]part{"a", "ab", "ba", "A", "ac", "a", "A"},
			[][]part{{"a", "ab", "ba"}, {"A"}, {"ac", "a"}, {"A"}},
		},
		{"a reader does not pass a waiting writer", "a", []part{"A", "a", "ab"}, [][]part{{"A"}, {"a", "ab"}}},
		{"nor one that waits for another key", "aB", []part{"AC", "bC", "c"}, [][]part{{"AC"}, {"bC"}, {"c"}}},
		{
			"mixed sets", "AB",
			[]part{"Ab", "b", "Bc", "bCD", "cD", "C"},
			[][]part{{"Ab", "b"}, {"Bc"}, {"bCD"}, {"cD"}, {"C"}},
		},
		{
			"readers go in together, whatever else they write", "A",
			[]part{"aB", "aC", "aD", "aB", "a", "ABCD"},
			[][]part{{"aB", "aC", "aD", "a"}, {"aB"}, {"ABCD"}},
		},
		{"a chain", "AB", []part{"BC", "CD", "D", "d"}, [][]part{{"BC"}, {"CD"}, {"D"}, {"d"}}},
		{"two lines that part", "AB", []part{"A", "B", "AB"}, [][]part{{"A", "B"}, {"AB"}}},
		{"the order of the keys does not matter", "ABCD", []part{"DCBA", "aBCD", "Dcab"}, [][]part{{"DCBA"}, {"aBCD"}, {"Dcab"}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			inTurn(t, func(t *testing.T, w, other *world) {
				turns := make(chan turn, len(test.line))
				inside := []*redislock.Lock{w.hold(t, test.holder)}
				other.lineUp(t, turns, test.line...)
				for _, next := range test.turns {
					wantNobody(t, turns)
					for _, lock := range inside {
						noError(t, lock.Release(t.Context()))
					}
					inside = wantTurn(t, turns, next...)
				}
				w.clear(t, turns, inside...)
			})
		})
	}
}

// A downgrade lets in the readers at the front, and nobody behind a writer.
func TestQueueDowngrade(t *testing.T) {
	t.Parallel()
	inTurn(t, func(t *testing.T, w, other *world) {
		turns := make(chan turn, 9)
		holder := w.hold(t, "AB")
		other.lineUp(t, turns, "a", "b", "ab", "cA", "a", "B")
		noError(t, holder.Downgrade(t.Context()))
		readers := wantTurn(t, turns, "a", "b", "ab")
		wantNobody(t, turns)
		for _, lock := range readers {
			noError(t, lock.Release(t.Context()))
		}
		wantNobody(t, turns)
		noError(t, holder.Release(t.Context()))
		writers := wantTurn(t, turns, "cA", "B")
		wantNobody(t, turns)
		noError(t, writers[0].Release(t.Context()))
		noError(t, writers[1].Release(t.Context()))
		w.clear(t, turns, wantTurn(t, turns, "a")...)
	})
}

// Whoever gives up lets those behind it go on, if nobody else is in their way.
func TestQueueCancelled(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name         string
		holder       part
		before, goes part // goes gives up
		behind       []part
		let          []part // who goes in then
	}{
		{"at the front", "a", "", "A", []part{"a", "ab", "A"}, []part{"a", "ab"}},
		{"at the front of some lines", "aC", "C", "AB", []part{"a", "b", "c"}, []part{"a", "b"}},
		{"in the middle", "A", "A", "AB", []part{"b", "A", "bB"}, []part{"b"}},
		{"in the middle, nobody can go on", "A", "A", "A", []part{"A"}, nil},
		{"a reader", "A", "A", "ab", []part{"B", "A"}, []part{"B"}},
		{"who waits for others as well", "AD", "A", "ABC", []part{"Bd", "C", "bc"}, []part{"C"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			inTurn(t, func(t *testing.T, w, other *world) {
				turns, gone := make(chan turn, 9), make(chan turn, 1)
				inside := []*redislock.Lock{w.hold(t, test.holder)}
				if test.before != "" {
					other.lineUp(t, turns, test.before)
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				other.standIn(ctx, t, gone, test.goes)
				other.lineUp(t, turns, test.behind...)
				wantNobody(t, turns)
				cancel()
				wantIs(t, (<-gone).err, context.Canceled)
				inside = append(inside, wantTurn(t, turns, test.let...)...)
				wantNobody(t, turns)
				for range len(test.behind) - len(test.let) + min(len(test.before), 1) {
					for _, lock := range inside {
						noError(t, lock.Release(t.Context()))
					}
					inside = []*redislock.Lock{(<-turns).lock}
				}
				w.clear(t, turns, inside...)
			})
		})
	}
}

// DESIGN section 11: one key of a set lost, and the others stayed locked.
func TestQueuePartialLoss(t *testing.T) {
	t.Parallel()
	for _, take := range []struct {
		name string
		key  func(ctx context.Context, rdb *redis.Client, key string) error
		let  []part
	}{
		{"deleted", func(ctx context.Context, rdb *redis.Client, key string) error {
			return rdb.Del(ctx, key).Err()
		}, []part{"A", "B", "c"}},
		{"stolen", func(ctx context.Context, rdb *redis.Client, key string) error {
			return rdb.Set(ctx, key, "another", long).Err()
		}, []part{"B", "c"}},
	} {
		t.Run(take.name, func(t *testing.T) {
			t.Parallel()
			inTurn(t, func(t *testing.T, w, other *world) {
				turns := make(chan turn, 9)
				holder := w.hold(t, "ABC")
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				for _, p := range []part{"A", "B", "c"} {
					other.standIn(ctx, t, turns, p)
				}
				noError(t, take.key(t.Context(), w.rdb, w.key("a")))
				wantNobody(t, turns)
				wantIs(t, holder.Release(t.Context()), redislock.ErrLockNotHeld)
				inside := wantTurn(t, turns, take.let...)
				wantNobody(t, turns)
				if take.name == "stolen" {
					cancel()
					wantIs(t, (<-turns).err, context.Canceled)
					noError(t, w.rdb.Del(t.Context(), w.key("a")).Err())
				}
				w.clear(t, turns, inside...)
			})
		})
	}
}

// A lock that is handed over costs its waiter no command. One whose keys are not all among those that
// are released has to be claimed: whoever waits is told of each key that it could have.
func TestQueueCommands(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		holders []part
		waiter  part
		claims  int64
	}{
		{"handed over", []part{"A"}, "A", 0},
		{"handed over, a set", []part{"AbC"}, "CB", 0},
		{"handed over by the first of two who read it", []part{"a", "a"}, "A", 0},
		{"claimed, of two sets", []part{"A", "B"}, "AB", 2},
		{"claimed, of which one was free", []part{"A"}, "AB", 1},
		{"claimed, of three sets", []part{"Ad", "bd", "C"}, "Abc", 3},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			inTurn(t, func(t *testing.T, w, other *world) {
				if w == other {
					return // its commands would count
				}
				turns := make(chan turn, 1)
				var holders []*redislock.Lock
				for _, p := range test.holders {
					holders = append(holders, w.hold(t, p))
				}
				other.lineUp(t, turns, test.waiter)
				wantNobody(t, turns) // it may have asked once more, when its subscription began
				sent := &check.Tally{Prefix: "evalsha"}
				other.rdb.AddHook(sent)
				for i, lock := range holders {
					if test.claims > 0 { // or it might ask once for two releases
						eventually(t, soon, "it has asked for each", func() bool { return sent.Sent.Load() >= int64(i) })
					}
					wantNobody(t, turns)
					noError(t, lock.Release(t.Context()))
				}
				inside := wantTurn(t, turns, test.waiter)
				if n := sent.Sent.Load(); n != test.claims {
					t.Errorf("got %d commands of the waiter, want %d", n, test.claims)
				}
				w.clear(t, turns, inside...)
			})
		})
	}
}

// Who does not queue is refused while somebody stands in line, and comes in when nobody does.
func TestQueueTurnsKeepOthersOut(t *testing.T) {
	t.Parallel()
	inTurn(t, func(t *testing.T, w, other *world) {
		turns := make(chan turn, 1)
		holder := w.hold(t, "a")
		other.lineUp(t, turns, "AB")
		for _, p := range []part{"a", "ac", "b", "B", "bc", "BC", "cB"} {
			write, read := w.modes(p)
			_, err := w.client.ObtainMixed(t.Context(), write, read, long, nil)
			var conflict *redislock.ConflictError
			if !errors.As(err, &conflict) || conflict.Mode != redislock.ModeQueue {
				t.Fatalf("%s: got error %v, want one about the line", p, err)
			}
		}
		noError(t, w.hold(t, "c").Release(t.Context()))
		noError(t, holder.Release(t.Context()))
		w.clear(t, turns, wantTurn(t, turns, "AB")...)
	})
}
