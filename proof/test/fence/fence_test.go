package fence_test

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// fenceLife is how long a fencing number is remembered.
const fenceLife = 25 * time.Hour // a day after its last use, and renewed once an hour

// fenceOf names what is stored beside a key.
func fenceOf(w *world.World, key string) string { return "redislock:fence:{" + w.Key(key) + "}" }

// takePart takes what a part wants, at once.
func takePart(t *testing.T, w *world.World, p world.Part, opt *redislock.Options) *redislock.Lock {
	t.Helper()
	return check.Must[*redislock.Lock](t)(w.Client.ObtainSet(t.Context(), setOf(w, p), world.Long, opt))
}

// takeAs does so as the owner of a token.
func takeAs(t *testing.T, w *world.World, token string, p world.Part, opt *redislock.Options) *redislock.Lock {
	t.Helper()
	return check.Must[*redislock.Lock](t)(w.Client.As(token).ObtainSet(t.Context(), setOf(w, p), world.Long, opt))
}

func setOf(w *world.World, p world.Part) redislock.Set {
	write, read := w.Modes(p)
	return redislock.Set{Write: write, Read: read}
}

// A ledger knows the greatest number that was given for each key.
type ledger map[string]int64

// enter checks that a number is greater than all before, for each of the keys.
func (l ledger) enter(t *testing.T, lock *redislock.Lock) int64 {
	t.Helper()
	number := lock.Fence()
	for _, key := range lock.Keys() {
		if number <= l[key] {
			t.Fatalf("got number %d for %q, after %d", number, key, l[key])
		}
		l[key] = number
	}
	return number
}

// shown checks that Inspect shows the last number of each key.
func (l ledger) shown(t *testing.T, w *world.World) {
	t.Helper()
	for key, want := range l {
		if got := check.Must[[]redislock.KeyState](t)(w.Client.Inspect(t.Context(), []string{key}))[0].Fence; got != want {
			t.Fatalf("Inspect shows number %d of %q, want %d", got, key, want)
		}
	}
}

func wantNumber(t *testing.T, lock *redislock.Lock, want int64) {
	t.Helper()
	if got := lock.Fence(); got != want {
		t.Fatalf("got number %d, want %d", got, want)
	}
}

// rounds are sets that overlap.
var rounds = []world.Part{"A", "AB", "BC", "a", "abC", "C", "ac", "ABC", "b", "bC"}

func TestFenceGrows(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		given := make(ledger)
		for range 3 {
			for _, p := range rounds {
				lock := takePart(t, w, p, world.Fenced())
				given.enter(t, lock)
				given.shown(t, w)
				for _, key := range strings.Split(strings.ToLower(p), "") {
					w.WantTTL(t, fenceOf(w, key), fenceLife-world.Slack, fenceLife)
				}
				check.NoError(t, lock.Release(t.Context()))
			}
		}
		given.shown(t, w)
	})
}

func TestFenceOff(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		numbered := takePart(t, w, "a", world.Fenced())
		plain := takePart(t, w, "aB", nil)
		wantNumber(t, plain, 0)
		wantNumber(t, w.Client.Attach(numbered.Keys(), numbered.Token()), 0)
		w.WantFree(t, fenceOf(w, "b"))
		check.NoError(t, plain.Release(t.Context()))
		check.NoError(t, numbered.Release(t.Context()))
	})
}

func TestFenceOfReaders(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		given := make(ledger)
		var readers []*redislock.Lock
		for range 20 {
			lock := takePart(t, w, "ab", world.Fenced())
			given.enter(t, lock)
			readers = append(readers, lock)
		}
		for _, lock := range readers {
			check.NoError(t, lock.Release(t.Context()))
		}
		given.enter(t, takePart(t, w, "A", world.Fenced()))
	})
}

// DESIGN section 11: the fencing number changes on re-entry.
func TestFenceOfToken(t *testing.T) {
	for _, test := range []struct {
		name     string
		sets     []world.Part // of one token, one after the other
		meantime world.Part   // somebody else has it, after the first
		keeps    bool
	}{
		{"write", []world.Part{"AB", "AB", "BA"}, "", true},
		{"read", []world.Part{"ab", "ab"}, "", true},
		{"read, while others read", []world.Part{"ab", "ba"}, "ab", true},
		{"a part of it", []world.Part{"ABC", "B", "CA"}, "", true},
		{"a part of it, while others read", []world.Part{"abC", "b", "C"}, "ab", true},
		{"it reads what it wrote", []world.Part{"AB", "Ab", "ab"}, "", true},
		{"more", []world.Part{"A", "AB", "ABc"}, "", false},
		{"it writes what it read", []world.Part{"ab", "Ab", "AB"}, "", false},
		{"it writes what it read with others", []world.Part{"ab", "AB"}, "ab", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			world.Scenario(t, func(t *testing.T, w *world.World) {
				given := make(ledger)
				first := takeAs(t, w, "job", test.sets[0], world.Fenced())
				number := given.enter(t, first)
				if test.meantime != "" {
					other := takePart(t, w, test.meantime, world.Fenced())
					given.enter(t, other)
					check.NoError(t, other.Release(t.Context()))
				}
				for _, p := range test.sets[1:] {
					opt := world.Fenced()
					opt.Metadata = "again"
					lock := takeAs(t, w, "job", p, opt)
					if test.keeps {
						wantNumber(t, lock, number)
					} else {
						given.enter(t, lock)
					}
				}
				given.shown(t, w)
			})
		})
	}

	t.Run("not beyond its hold", func(t *testing.T) {
		world.Scenario(t, func(t *testing.T, w *world.World) {
			given := make(ledger)
			other := takePart(t, w, "a", world.Fenced())
			for range 3 {
				lock := takeAs(t, w, "job", "a", world.Fenced())
				given.enter(t, lock)
				check.NoError(t, lock.Release(t.Context()))
			}
			check.NoError(t, other.Release(t.Context()))
		})
	})

	// What a token does without a number in between must not bring back an old one.
	t.Run("not after a hold without a number", func(t *testing.T) {
		world.Scenario(t, func(t *testing.T, w *world.World) {
			given := make(ledger)
			given.enter(t, takeAs(t, w, "job", "a", world.Fenced()))
			other := takePart(t, w, "a", world.Fenced())
			given.enter(t, other)
			check.NoError(t, other.Release(t.Context()))
			wantNumber(t, takeAs(t, w, "job", "A", nil), 0)
			given.enter(t, takeAs(t, w, "job", "A", world.Fenced()))
		})
	})
}

// The reply to an Obtain is lost, and it is sent again: it was one hold all the time.
func TestFenceReplyLost(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(*redistest.Relay){
		"cut":     (*redistest.Relay).CutReplies,
		"dropped": func(r *redistest.Relay) { r.DropReplies(true) },
	} {
		for mode, obtain := range map[string]func(*redislock.Client) world.ObtainFunc{
			"write": func(c *redislock.Client) world.ObtainFunc { return c.Obtain },
			"read":  func(c *redislock.Client) world.ObtainFunc { return c.ObtainRead },
		} {
			t.Run(name+"/"+mode, func(t *testing.T) {
				t.Parallel()
				l := world.NewLossy(t, world.Persistent)
				hash := "redislock:fence:{" + l.Key + "}"
				t.Cleanup(func() { l.Direct.Del(context.Background(), hash) })
				warm := check.Must[*redislock.Lock](t)(obtain(l.Client)(t.Context(), []string{l.Key}, world.Long, world.Fenced()))
				check.NoError(t, warm.Release(t.Context()))
				other := redislock.New(l.Direct)
				t.Cleanup(other.Close)
				var mu sync.Mutex
				var tries []int64 // the last number when each was sent
				l.Relay.OnRequest(func(name string, _ []string) {
					l.Relay.DropReplies(false)
					if name != "EVALSHA" {
						return
					}
					last, _ := l.Direct.HGet(context.Background(), hash, "").Int64()
					mu.Lock()
					defer mu.Unlock()
					tries = append(tries, last)
					switch {
					case len(tries) == 1:
						lose(l.Relay)
					case mode == "read":
						if _, err := other.ObtainRead(context.Background(), []string{l.Key}, time.Second, world.Fenced()); err != nil {
							t.Error(err)
						}
					}
				})
				lock := check.Must[*redislock.Lock](t)(obtain(l.Client)(t.Context(), []string{l.Key}, world.Long, world.Fenced()))
				l.Relay.OnRequest(nil)
				mu.Lock()
				defer mu.Unlock()
				if len(tries) < 2 || tries[0] != warm.Fence() || tries[1] <= tries[0] { // a slow answer makes it more
					t.Fatalf("got last numbers %d at the tries, want two of them at least, after %d", tries, warm.Fence())
				}
				wantNumber(t, lock, tries[1])
				check.NoError(t, lock.Release(t.Context()))
			})
		}
	}
}

func TestFenceConvert(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		given := make(ledger)
		lock := takePart(t, w, "Abc", world.Fenced())
		number := given.enter(t, lock)
		for range 3 {
			check.NoError(t, lock.Downgrade(t.Context()))
			wantNumber(t, lock, number)
			reader := takePart(t, w, "ab", world.Fenced())
			given.enter(t, reader)
			world.WantConflict(t, lock.Upgrade(t.Context()), w.Key("a"), redislock.ModeRead)
			wantNumber(t, lock, number)
			check.NoError(t, reader.Release(t.Context()))
			check.NoError(t, lock.Upgrade(t.Context()))
			number = given.enter(t, lock)
			check.NoError(t, lock.Upgrade(t.Context())) // it writes already
			wantNumber(t, lock, number)
			given.shown(t, w)
		}
		check.NoError(t, lock.Release(t.Context()))
		given.enter(t, takePart(t, w, "ABC", world.Fenced()))
	})
}

// A waiter whose turn it is gets a number, whether the holder before it had one or not.
func TestFenceHandedOver(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		turns [][]world.Part // those who go in together, the first of them before anybody waits; '-': without a number
	}{
		{"behind one with a number", [][]world.Part{{"A"}, {"A"}, {"A"}}},
		{"behind one without", [][]world.Part{{"-A"}, {"A"}, {"-A"}, {"A"}}},
		{"readers", [][]world.Part{{"A"}, {"a", "ab", "-a", "ac"}, {"AB"}}},
		{"readers behind one without", [][]world.Part{{"-AB"}, {"a", "-ab", "b"}, {"AB"}}},
		{"mixed sets", [][]world.Part{{"ABC"}, {"Ab", "bc"}, {"-aC", "aB"}, {"ABC"}}},
		{"mixed sets behind one without", [][]world.Part{{"-ABC"}, {"Ab", "bc"}, {"aC", "-aB"}, {"ABC"}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			world.InTurn(t, func(t *testing.T, w, other *world.World) {
				given := make(ledger)
				turns := make(chan world.Turn, 9)
				for i, next := range test.turns {
					for _, who := range next {
						p := strings.TrimPrefix(who, "-")
						opt := &redislock.Options{Queue: true, Fenced: p == who}
						if i == 0 {
							turns <- world.Turn{Who: who, Lock: takePart(t, w, p, opt), Err: nil}
						} else {
							other.StandWith(t.Context(), t, turns, who, p, opt)
						}
					}
				}
				for _, next := range test.turns {
					inside := world.WantTurn(t, turns, next...)
					numbered := slices.DeleteFunc(slices.Clone(next), func(who world.Part) bool { return who[0] == '-' })
					if n := given.together(t, inside); n != len(numbered) {
						t.Fatalf("%d of %q have a number, want %d", n, next, len(numbered))
					}
					given.shown(t, w)
					for _, lock := range inside {
						check.NoError(t, lock.Release(t.Context()))
					}
				}
			})
		})
	}
}

// together enters the numbers of those who hold keys at the same time, in the order of the numbers,
// and returns how many have one.
func (l ledger) together(t *testing.T, locks []*redislock.Lock) (numbered int) {
	t.Helper()
	slices.SortFunc(locks, func(a, b *redislock.Lock) int { return cmp.Compare(a.Fence(), b.Fence()) })
	for _, lock := range locks {
		if lock.Fence() != 0 {
			numbered++
			l.enter(t, lock)
		}
	}
	return numbered
}

func TestFence(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		key := w.Key("k")
		var last int64
		for range 5 {
			lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), []string{key, w.Key("x")}, world.Long, &redislock.Options{Fenced: true}))
			if lock.Fence() <= last {
				t.Fatalf("got number %d after %d", lock.Fence(), last)
			}
			last = lock.Fence()
			check.NoError(t, lock.Release(t.Context()))
		}
	})
}
