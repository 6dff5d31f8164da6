package redislock_test

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// fenceLife is how long a fencing number is remembered.
const fenceLife = 24 * time.Hour

func fenced(token string) *redislock.Options { return &redislock.Options{Token: token, Fenced: true} }

// fence names what is stored beside a key.
func (w *world) fence(key string) string { return "redislock:fence:{" + w.key(key) + "}" }

// take takes what a part wants, at once.
func (w *world) take(t *testing.T, p part, opt *redislock.Options) *redislock.Lock {
	t.Helper()
	write, read := w.modes(p)
	return must[*redislock.Lock](t)(w.client.ObtainMixed(t.Context(), write, read, long, opt))
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
func (l ledger) shown(t *testing.T, w *world) {
	t.Helper()
	for key, want := range l {
		if got := must[[]redislock.KeyState](t)(w.client.Inspect(t.Context(), key))[0].Fence; got != want {
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
var rounds = []part{"A", "AB", "BC", "a", "abC", "C", "ac", "ABC", "b", "bC"}

func TestFenceGrows(t *testing.T) {
	scenario(t, func(t *testing.T, w *world) {
		given := make(ledger)
		for range 3 {
			for _, p := range rounds {
				lock := w.take(t, p, fenced(""))
				given.enter(t, lock)
				given.shown(t, w)
				for _, key := range strings.Split(strings.ToLower(p), "") {
					w.wantTTL(t, w.fence(key), fenceLife-slack, fenceLife)
				}
				noError(t, lock.Release(t.Context()))
			}
		}
		given.shown(t, w)
	})
}

func TestFenceOff(t *testing.T) {
	scenario(t, func(t *testing.T, w *world) {
		numbered := w.take(t, "a", fenced(""))
		plain := w.take(t, "aB", nil)
		wantNumber(t, plain, 0)
		wantNumber(t, w.client.Attach(numbered.Keys(), numbered.Token()), 0)
		w.wantFree(t, w.fence("b"))
		noError(t, plain.Release(t.Context()))
		noError(t, numbered.Release(t.Context()))
	})
}

func TestFenceOfReaders(t *testing.T) {
	scenario(t, func(t *testing.T, w *world) {
		given := make(ledger)
		var readers []*redislock.Lock
		for range 20 {
			lock := w.take(t, "ab", fenced(""))
			given.enter(t, lock)
			readers = append(readers, lock)
		}
		for _, lock := range readers {
			noError(t, lock.Release(t.Context()))
		}
		given.enter(t, w.take(t, "A", fenced("")))
	})
}

// DESIGN section 11: the fencing number changes on re-entry.
func TestFenceOfToken(t *testing.T) {
	for _, test := range []struct {
		name     string
		sets     []part // of one token, one after the other
		meantime part   // somebody else has it, after the first
		keeps    bool
	}{
		{"write", []part{"AB", "AB", "BA"}, "", true},
		{"read", []part{"ab", "ab"}, "", true},
		{"read, while others read", []part{"ab", "ba"}, "ab", true},
		{"a part of it", []part{"ABC", "B", "CA"}, "", true},
		{"a part of it, while others read", []part{"abC", "b", "C"}, "ab", true},
		{"it reads what it wrote", []part{"AB", "Ab", "ab"}, "", true},
		{"more", []part{"A", "AB", "ABc"}, "", false},
		{"it writes what it read", []part{"ab", "Ab", "AB"}, "", false},
		{"it writes what it read with others", []part{"ab", "AB"}, "ab", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			scenario(t, func(t *testing.T, w *world) {
				given := make(ledger)
				first := w.take(t, test.sets[0], fenced("job"))
				number := given.enter(t, first)
				if test.meantime != "" {
					other := w.take(t, test.meantime, fenced(""))
					given.enter(t, other)
					noError(t, other.Release(t.Context()))
				}
				for _, p := range test.sets[1:] {
					opt := fenced("job")
					opt.Metadata = "again"
					lock := w.take(t, p, opt)
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
		scenario(t, func(t *testing.T, w *world) {
			given := make(ledger)
			other := w.take(t, "a", fenced(""))
			for range 3 {
				lock := w.take(t, "a", fenced("job"))
				given.enter(t, lock)
				noError(t, lock.Release(t.Context()))
			}
			noError(t, other.Release(t.Context()))
		})
	})

	// What a token does without a number in between must not bring back an old one.
	t.Run("not after a hold without a number", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			given := make(ledger)
			given.enter(t, w.take(t, "a", fenced("job")))
			other := w.take(t, "a", fenced(""))
			given.enter(t, other)
			noError(t, other.Release(t.Context()))
			wantNumber(t, w.take(t, "A", &redislock.Options{Token: "job"}), 0)
			given.enter(t, w.take(t, "A", fenced("job")))
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
		for mode, obtain := range map[string]func(*redislock.Client) obtainFunc{
			"write": func(c *redislock.Client) obtainFunc { return c.Obtain },
			"read":  func(c *redislock.Client) obtainFunc { return c.ObtainRead },
		} {
			t.Run(name+"/"+mode, func(t *testing.T) {
				t.Parallel()
				l := newLossy(t, persistent)
				hash := "redislock:fence:{" + l.key + "}"
				t.Cleanup(func() { l.direct.Del(context.Background(), hash) })
				warm := must[*redislock.Lock](t)(obtain(l.client)(t.Context(), []string{l.key}, long, fenced("")))
				noError(t, warm.Release(t.Context()))
				other := redislock.New(l.direct)
				t.Cleanup(other.Close)
				var mu sync.Mutex
				var tries []int64 // the last number when each was sent
				l.relay.OnRequest(func(name string, _ []string) {
					l.relay.DropReplies(false)
					if name != "EVALSHA" {
						return
					}
					last, _ := l.direct.HGet(context.Background(), hash, "").Int64()
					mu.Lock()
					defer mu.Unlock()
					tries = append(tries, last)
					switch {
					case len(tries) == 1:
						lose(l.relay)
					case mode == "read":
						if _, err := other.ObtainRead(context.Background(), []string{l.key}, time.Second, fenced("")); err != nil {
							t.Error(err)
						}
					}
				})
				lock := must[*redislock.Lock](t)(obtain(l.client)(t.Context(), []string{l.key}, long, fenced("")))
				l.relay.OnRequest(nil)
				mu.Lock()
				defer mu.Unlock()
				if len(tries) < 2 || tries[0] != warm.Fence() || tries[1] <= tries[0] { // a slow answer makes it more
					t.Fatalf("got last numbers %d at the tries, want two of them at least, after %d", tries, warm.Fence())
				}
				wantNumber(t, lock, tries[1])
				noError(t, lock.Release(t.Context()))
			})
		}
	}
}

func TestFenceConvert(t *testing.T) {
	scenario(t, func(t *testing.T, w *world) {
		given := make(ledger)
		lock := w.take(t, "Abc", fenced(""))
		number := given.enter(t, lock)
		for range 3 {
			noError(t, lock.Downgrade(t.Context()))
			wantNumber(t, lock, number)
			reader := w.take(t, "ab", fenced(""))
			given.enter(t, reader)
			wantConflict(t, lock.Upgrade(t.Context()), w.key("a"), redislock.ModeRead)
			wantNumber(t, lock, number)
			noError(t, reader.Release(t.Context()))
			noError(t, lock.Upgrade(t.Context()))
			number = given.enter(t, lock)
			noError(t, lock.Upgrade(t.Context())) // it writes already
			wantNumber(t, lock, number)
			given.shown(t, w)
		}
		noError(t, lock.Release(t.Context()))
		given.enter(t, w.take(t, "ABC", fenced("")))
	})
}

// A turn brings a number, whether the one before has one or not.
func TestFenceHandedOver(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		turns [][]part // those who go in together, the first of them before anybody waits; '-': without a number
	}{
		{"behind one with a number", [][]part{{"A"}, {"A"}, {"A"}}},
		{"behind one without", [][]part{{"-A"}, {"A"}, {"-A"}, {"A"}}},
		{"readers", [][]part{{"A"}, {"a", "ab", "-a", "ac"}, {"AB"}}},
		{"readers behind one without", [][]part{{"-AB"}, {"a", "-ab", "b"}, {"AB"}}},
		{"mixed sets", [][]part{{"ABC"}, {"Ab", "bc"}, {"-aC", "aB"}, {"ABC"}}},
		{"mixed sets behind one without", [][]part{{"-ABC"}, {"Ab", "bc"}, {"aC", "-aB"}, {"ABC"}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			inTurn(t, func(t *testing.T, w, other *world) {
				given := make(ledger)
				turns := make(chan turn, 9)
				for i, next := range test.turns {
					for _, who := range next {
						p := strings.TrimPrefix(who, "-")
						opt := &redislock.Options{Queue: true, Fenced: p == who}
						if i == 0 {
							turns <- turn{who, w.take(t, p, opt), nil}
						} else {
							other.standWith(t.Context(), t, turns, who, p, opt)
						}
					}
				}
				for _, next := range test.turns {
					inside := wantTurn(t, turns, next...)
					numbered := slices.DeleteFunc(slices.Clone(next), func(who part) bool { return who[0] == '-' })
					if n := given.together(t, inside); n != len(numbered) {
						t.Fatalf("%d of %q have a number, want %d", n, next, len(numbered))
					}
					given.shown(t, w)
					for _, lock := range inside {
						noError(t, lock.Release(t.Context()))
					}
				}
			})
		})
	}
}

// together enters the numbers of those who hold keys at the same time, in the order of the numbers,
// and tells how many have one.
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
