package line_test

import (
	"context"
	"errors"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/world"
)

// holdPart takes what a part wants, at once.
func holdPart(t *testing.T, w *world.World, p world.Part) *redislock.Lock {
	t.Helper()
	write, read := w.Modes(p)
	return check.Must[*redislock.Lock](t)(w.Client.ObtainSet(t.Context(), redislock.Set{Write: write, Read: read}, world.Long, world.Queue()))
}

// lineUp has waiters stand in line, one after the other.
func lineUp(t *testing.T, w *world.World, turns chan<- world.Turn, parts ...world.Part) {
	t.Helper()
	for _, p := range parts {
		standIn(t.Context(), t, w, turns, p)
	}
}

func standIn(ctx context.Context, t *testing.T, w *world.World, turns chan<- world.Turn, p world.Part) {
	t.Helper()
	w.StandWith(ctx, t, turns, p, p, world.Queue())
}

// wantCleared checks that nobody is left over, and nothing in Redis.
func wantCleared(t *testing.T, w *world.World, turns <-chan world.Turn, locks ...*redislock.Lock) {
	t.Helper()
	for _, lock := range locks {
		check.NoError(t, lock.Release(t.Context()))
	}
	world.WantNobody(t, turns)
	w.WantNoTrace(t, w.Keys("a", "b", "c", "d")...)
}

func TestQueueTurns(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		holder world.Part
		line   []world.Part
		turns  [][]world.Part // whom each release, and that of all who came in by the one before, lets in
	}{
		{"writers, one after the other", "A", []world.Part{"A", "AB", "A", "BA"}, [][]world.Part{{"A"}, {"AB"}, {"A"}, {"BA"}}},
		{
			"readers at the front go in together", "A",
			[]world.Part{"a", "ab", "ba", "A", "ac", "a", "A"},
			[][]world.Part{{"a", "ab", "ba"}, {"A"}, {"ac", "a"}, {"A"}},
		},
		{"a reader does not pass a waiting writer", "a", []world.Part{"A", "a", "ab"}, [][]world.Part{{"A"}, {"a", "ab"}}},
		{"nor one that waits for another key", "aB", []world.Part{"AC", "bC", "c"}, [][]world.Part{{"AC"}, {"bC"}, {"c"}}},
		{
			"mixed sets", "AB",
			[]world.Part{"Ab", "b", "Bc", "bCD", "cD", "C"},
			[][]world.Part{{"Ab", "b"}, {"Bc"}, {"bCD"}, {"cD"}, {"C"}},
		},
		{
			"readers go in together, whatever else they write", "A",
			[]world.Part{"aB", "aC", "aD", "aB", "a", "ABCD"},
			[][]world.Part{{"aB", "aC", "aD", "a"}, {"aB"}, {"ABCD"}},
		},
		{"a chain", "AB", []world.Part{"BC", "CD", "D", "d"}, [][]world.Part{{"BC"}, {"CD"}, {"D"}, {"d"}}},
		{"two lines that part", "AB", []world.Part{"A", "B", "AB"}, [][]world.Part{{"A", "B"}, {"AB"}}},
		{"the order of the keys does not matter", "ABCD", []world.Part{"DCBA", "aBCD", "Dcab"}, [][]world.Part{{"DCBA"}, {"aBCD"}, {"Dcab"}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			world.InTurn(t, func(t *testing.T, w, other *world.World) {
				turns := make(chan world.Turn, len(test.line))
				inside := []*redislock.Lock{holdPart(t, w, test.holder)}
				lineUp(t, other, turns, test.line...)
				for _, next := range test.turns {
					world.WantNobody(t, turns)
					for _, lock := range inside {
						check.NoError(t, lock.Release(t.Context()))
					}
					inside = world.WantTurn(t, turns, next...)
				}
				wantCleared(t, w, turns, inside...)
			})
		})
	}
}

// A downgrade lets in the readers at the front, and nobody behind a writer.
func TestQueueDowngrade(t *testing.T) {
	t.Parallel()
	world.InTurn(t, func(t *testing.T, w, other *world.World) {
		turns := make(chan world.Turn, 9)
		holder := holdPart(t, w, "AB")
		lineUp(t, other, turns, "a", "b", "ab", "cA", "a", "B")
		check.NoError(t, holder.Downgrade(t.Context()))
		readers := world.WantTurn(t, turns, "a", "b", "ab")
		world.WantNobody(t, turns)
		for _, lock := range readers {
			check.NoError(t, lock.Release(t.Context()))
		}
		world.WantNobody(t, turns)
		check.NoError(t, holder.Release(t.Context()))
		writers := world.WantTurn(t, turns, "cA", "B")
		world.WantNobody(t, turns)
		check.NoError(t, writers[0].Release(t.Context()))
		check.NoError(t, writers[1].Release(t.Context()))
		wantCleared(t, w, turns, world.WantTurn(t, turns, "a")...)
	})
}

// When a waiter gives up, those behind it go on, if nobody else is in their way.
func TestQueueCancelled(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name         string
		holder       world.Part
		before, goes world.Part // goes gives up
		behind       []world.Part
		let          []world.Part // who goes in then
	}{
		{"at the front", "a", "", "A", []world.Part{"a", "ab", "A"}, []world.Part{"a", "ab"}},
		{"at the front of some lines", "aC", "C", "AB", []world.Part{"a", "b", "c"}, []world.Part{"a", "b"}},
		{"in the middle", "A", "A", "AB", []world.Part{"b", "A", "bB"}, []world.Part{"b"}},
		{"in the middle, nobody can go on", "A", "A", "A", []world.Part{"A"}, nil},
		{"a reader", "A", "A", "ab", []world.Part{"B", "A"}, []world.Part{"B"}},
		{"who waits for others as well", "AD", "A", "ABC", []world.Part{"Bd", "C", "bc"}, []world.Part{"C"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			world.InTurn(t, func(t *testing.T, w, other *world.World) {
				turns, gone := make(chan world.Turn, 9), make(chan world.Turn, 1)
				inside := []*redislock.Lock{holdPart(t, w, test.holder)}
				if test.before != "" {
					lineUp(t, other, turns, test.before)
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				standIn(ctx, t, other, gone, test.goes)
				lineUp(t, other, turns, test.behind...)
				world.WantNobody(t, turns)
				cancel()
				check.Is(t, (<-gone).Err, context.Canceled)
				inside = append(inside, world.WantTurn(t, turns, test.let...)...)
				world.WantNobody(t, turns)
				for range len(test.behind) - len(test.let) + min(len(test.before), 1) {
					for _, lock := range inside {
						check.NoError(t, lock.Release(t.Context()))
					}
					inside = []*redislock.Lock{(<-turns).Lock}
				}
				wantCleared(t, w, turns, inside...)
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
		let  []world.Part
	}{
		{"deleted", func(ctx context.Context, rdb *redis.Client, key string) error {
			return rdb.Del(ctx, key).Err()
		}, []world.Part{"A", "B", "c"}},
		{"stolen", func(ctx context.Context, rdb *redis.Client, key string) error {
			return rdb.Set(ctx, key, "another", world.Long).Err()
		}, []world.Part{"B", "c"}},
	} {
		t.Run(take.name, func(t *testing.T) {
			t.Parallel()
			world.InTurn(t, func(t *testing.T, w, other *world.World) {
				turns := make(chan world.Turn, 9)
				holder := holdPart(t, w, "ABC")
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				for _, p := range []world.Part{"A", "B", "c"} {
					standIn(ctx, t, other, turns, p)
				}
				check.NoError(t, take.key(t.Context(), w.RDB, w.Key("a")))
				world.WantNobody(t, turns)
				check.Is(t, holder.Release(t.Context()), redislock.ErrLockNotHeld)
				inside := world.WantTurn(t, turns, take.let...)
				world.WantNobody(t, turns)
				if take.name == "stolen" {
					cancel()
					check.Is(t, (<-turns).Err, context.Canceled)
					check.NoError(t, w.RDB.Del(t.Context(), w.Key("a")).Err())
				}
				wantCleared(t, w, turns, inside...)
			})
		})
	}
}

// A lock that is handed over costs its waiter no command. If not all its keys are among those that are released the
// waiter has to ask for it: a waiter gets a message about each key that it could have.
func TestQueueCommands(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		holders []world.Part
		waiter  world.Part
		claims  int64
	}{
		{"handed over", []world.Part{"A"}, "A", 0},
		{"handed over, a set", []world.Part{"AbC"}, "CB", 0},
		{"handed over by the first of two who read it", []world.Part{"a", "a"}, "A", 0},
		{"claimed, of two sets", []world.Part{"A", "B"}, "AB", 2},
		{"claimed, of which one was free", []world.Part{"A"}, "AB", 1},
		{"claimed, of three sets", []world.Part{"Ad", "bd", "C"}, "Abc", 3},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			world.InTurn(t, func(t *testing.T, w, other *world.World) {
				if w == other {
					return // its commands would count
				}
				// One that hears nothing for seconds asks once more, and so does one that was subscribed late: a busy machine may
				// need more than one try.
				n := commandsOfWaiter(t, w, other, test.holders, test.waiter, test.claims > 0)
				for try := 1; try < 3 && n > test.claims; try++ {
					n = commandsOfWaiter(t, w, other, test.holders, test.waiter, test.claims > 0)
				}
				if n != test.claims {
					t.Errorf("got %d commands of the waiter, want %d", n, test.claims)
				}
			})
		})
	}
}

// commandsOfWaiter has holders release what somebody waits for, who may have to claim it. It returns how many commands that one
// has sent meanwhile.
func commandsOfWaiter(t *testing.T, w, other *world.World, parts []world.Part, waiter world.Part, claims bool) int64 {
	t.Helper()
	turns := make(chan world.Turn, 1)
	var holders []*redislock.Lock
	for _, p := range parts {
		holders = append(holders, holdPart(t, w, p))
	}
	lineUp(t, other, turns, waiter)
	world.WantNobody(t, turns) // it may have asked once more, when its subscription began
	sent := check.Count(other.RDB, "evalsha")
	for i, lock := range holders {
		if claims { // or it might ask once for two releases
			check.Eventually(t, world.Soon, "it has asked for each", func() bool { return sent.Load() >= int64(i) })
		}
		world.WantNobody(t, turns)
		check.NoError(t, lock.Release(t.Context()))
	}
	inside := world.WantTurn(t, turns, waiter)
	n := sent.Load()
	wantCleared(t, w, turns, inside...)
	return n
}

// A caller without Queue is refused while somebody stands in line, and comes in when nobody does.
func TestQueueTurnsKeepOthersOut(t *testing.T) {
	t.Parallel()
	world.InTurn(t, func(t *testing.T, w, other *world.World) {
		turns := make(chan world.Turn, 1)
		holder := holdPart(t, w, "a")
		lineUp(t, other, turns, "AB")
		for _, p := range []world.Part{"a", "ac", "b", "B", "bc", "BC", "cB"} {
			write, read := w.Modes(p)
			_, err := w.Client.ObtainSet(t.Context(), redislock.Set{Write: write, Read: read}, world.Long, nil)
			var conflict *redislock.ConflictError
			if !errors.As(err, &conflict) || conflict.Mode != redislock.ModeQueue {
				t.Fatalf("%s: got error %v, want one about the line", p, err)
			}
		}
		check.NoError(t, holdPart(t, w, "c").Release(t.Context()))
		check.NoError(t, holder.Release(t.Context()))
		wantCleared(t, w, turns, world.WantTurn(t, turns, "AB")...)
	})
}
