package multi_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/multi"
)

func TestObtain(t *testing.T) {
	t.Run("takes every part, whatever order they are given in, and releases in reverse", func(t *testing.T) {
		ordered(t, func(t *testing.T, w *world) {
			parts := w.abc()
			for range 3 { // every place once at the front
				parts = append(parts[1:], parts[0])
				before := time.Now()
				lock := must[*multi.Lock](t)(multi.Obtain(bounded(t), parts, long, &redislock.Options{Metadata: "who=me"}))
				for _, name := range []string{"a", "b", "c"} {
					got := must[string](t)(w.rdb.Get(bounded(t), w.key(name)).Result())
					if want := lock.Token() + "|who=me"; got != want {
						t.Errorf("got value %q of %q, want %q", got, name, want)
					}
				}
				if got := lock.Metadata(); got != "who=me" {
					t.Errorf("got metadata %q", got)
				}
				if d := lock.Deadline(); d.Before(before.Add(long-time.Second)) || d.After(time.Now().Add(long)) {
					t.Errorf("got deadline %v", d)
				}
				if ttl := must[time.Duration](t)(lock.TTL(bounded(t))); ttl <= long-soon || ttl > long {
					t.Errorf("got ttl %v", ttl)
				}
				noError(t, lock.Release(bounded(t)))
				w.wantFree(t, "a", "b", "c")
				w.wantTook(t, "obtained a", "obtained b", "obtained c", "released c", "released b", "released a")
			}
		})
	})

	t.Run("a part that is held has the earlier ones released", func(t *testing.T) {
		ordered(t, func(t *testing.T, w *world) {
			other := w.block(t, long, "c")
			_, err := multi.Obtain(bounded(t), w.abc(), long, nil)
			wantConflict(t, err, w.key("c"), fmt.Sprintf("part 3 of 3, %q at \"c\"", w.key("c")))
			w.wantTook(t, "obtained a", "obtained b", "refused c", "released b", "released a")
			w.wantFree(t, "a", "b")
			noError(t, other.Release(bounded(t)))
		})
	})

	t.Run("keys of several kinds", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			parts := []multi.Part{w.part(0, "w1", "w2"), w.part(1, "w3")}
			parts[1].Read = []string{w.key("r"), w.key("w3")}
			lock := must[*multi.Lock](t)(multi.Obtain(bounded(t), parts, long, &redislock.Options{Fenced: true}))
			defer lock.Release(bounded(t))
			parts[0].Write[0] = "changed" // the lock has copies
			_, err := redislock.New(w.rdb).ObtainRead(bounded(t), []string{w.key("r")}, long, nil)
			noError(t, err)
			_, err = redislock.New(w.rdb).ObtainRead(bounded(t), []string{w.key("w3")}, long, nil)
			wantIs(t, err, redislock.ErrNotObtained)

			held := lock.Parts()
			for i := range held {
				if held[i].Fence <= 0 {
					t.Errorf("got number %d of part %d", held[i].Fence, i)
				}
				held[i].Fence = 0
			}
			want := []multi.Taken{
				{Place: "a", Keys: []string{w.key("w1"), w.key("w2")}},
				{Place: "b", Keys: []string{w.key("w3"), w.key("r")}},
			}
			if diff := cmp.Diff(want, held); diff != "" {
				t.Errorf("parts (-want +got):\n%s", diff)
			}
		})
	})

	t.Run("what one server can take as one set is one part", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			parts := multi.BySlot(w.clients[0], redislock.Set{Write: []string{w.key("x"), w.key("y"), w.key("z")}, Read: []string{w.key("r")}})
			if len(parts) != 4 {
				t.Fatalf("got %d parts of four slots", len(parts))
			}
			lock := must[*multi.Lock](t)(multi.Obtain(bounded(t), parts, long, nil))
			if got := w.took(); len(got) != 1 || len(lock.Parts()) != 1 || len(lock.Parts()[0].Keys) != 4 {
				t.Errorf("got events %q, parts %v; want one part, taken once", got, lock.Parts())
			}
			w.wantHeld(t, "x", "y", "z", "r")
			noError(t, lock.Release(bounded(t)))
			w.wantFree(t, "x", "y", "z", "r")
		})
	})

	t.Run("a token of the caller", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			lock := must[*multi.Lock](t)(multi.Client{}.As("mine").Obtain(bounded(t), w.abc(), long, nil))
			again := must[*multi.Lock](t)(multi.Client{}.As("mine").Obtain(bounded(t), w.abc(), long, nil))
			if lock.Token() != "mine" || again.Token() != "mine" {
				t.Errorf("got tokens %q, %q", lock.Token(), again.Token())
			}
			noError(t, w.clients[1].Attach([]string{w.key("b")}, "mine").Release(bounded(t)))
			wantIs(t, again.Release(bounded(t)), redislock.ErrLockNotHeld)
			w.wantFree(t, "a", "b", "c")
		})
	})
}

func TestRetry(t *testing.T) {
	t.Run("the whole is asked for again", func(t *testing.T) {
		ordered(t, func(t *testing.T, w *world) {
			other := w.block(t, long, "b")
			tries, parts := 0, w.abc()
			lock := must[*multi.Lock](t)(multi.Obtain(bounded(t), parts, long, &redislock.Options{
				RetryStrategy: func() redislock.BackOff {
					return wait(func() time.Duration {
						parts[1].Write[0] = "changed"
						w.wantFree(t, "a", "c") // nothing is held between tries
						if tries++; tries == 3 {
							noError(t, other.Release(bounded(t)))
						}
						return time.Millisecond
					})
				},
			}))
			noError(t, lock.Release(bounded(t)))
			if tries != 3 {
				t.Errorf("got %d waits, want 3", tries)
			}
			round := []string{"obtained a", "refused b", "released a"}
			w.wantTook(t, slices.Concat(round, round, round, []string{
				"obtained a", "obtained b", "obtained c", "released c", "released b", "released a",
			})...)
		})
	})

	// Lesson: a reused retry strategy has used up its retries.
	t.Run("fresh state for each call", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			other := w.block(t, long, "b")
			defer other.Release(bounded(t))
			opt := &redislock.Options{RetryStrategy: redislock.LimitRetry(redislock.LinearBackoff(time.Millisecond), 2)}
			for range 2 {
				_, err := multi.Obtain(bounded(t), w.abc(), long, opt)
				wantIs(t, err, redislock.ErrNotObtained)
				if got := len(w.took()); got != 3*3 {
					t.Errorf("got %d events, want three rounds of three", got)
				}
			}
		})
	})

	t.Run("no longer than the lease in the way", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world) {
			const lease = 300 * time.Millisecond
			w.block(t, lease, "c")
			began := time.Now()
			lock := must[*multi.Lock](t)(multi.Obtain(bounded(t), w.abc(), long, &redislock.Options{
				RetryStrategy: redislock.LinearBackoff(long),
			}))
			if took := time.Since(began); took < lease || took > 2*lease {
				t.Errorf("it took %v with a lease of %v in the way", took, lease)
			}
			noError(t, lock.Release(bounded(t)))
		})
	})

	t.Run("ctx bounds it", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world) {
			other := w.block(t, long, "b")
			defer other.Release(bounded(t))
			for _, every := range []time.Duration{time.Millisecond, long / 2} {
				const patience = 150 * time.Millisecond
				ctx, cancel := context.WithTimeout(bounded(t), patience)
				began := time.Now()
				_, err := multi.Obtain(ctx, w.abc(), long, &redislock.Options{RetryStrategy: redislock.LinearBackoff(every)})
				cancel()
				wantConflict(t, err, w.key("b"), "part 2 of 3")
				wantIs(t, err, context.DeadlineExceeded)
				if took := time.Since(began); took != patience {
					t.Errorf("it took %v, want it to return when the context ends", took)
				}
				w.wantSoonFree(t, "a", "c") // if it was under way when ctx ended its Client frees it
			}
		})
	})

	t.Run("a context that has ended asks for nothing", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			ctx, cancel := context.WithCancelCause(bounded(t))
			why := errors.New("gone home")
			cancel(why)
			_, err := multi.Obtain(ctx, w.abc(), long, &redislock.Options{RetryStrategy: redislock.LinearBackoff(time.Millisecond)})
			wantIs(t, err, redislock.ErrNotObtained, why)
			wantEvents(t, w.took(), []string{"refused a"})
		})
	})

	t.Run("what a server refuses for good is not asked for again", func(t *testing.T) {
		t.Parallel()
		server, spare := redistest.StartMini(t), redistest.StartMini(t)
		w := newWorld(t, spare)
		w.clients[1] = w.newClient(t, server.Client(t))
		opt := &redislock.Options{RetryStrategy: redislock.LimitRetry(redislock.LinearBackoff(time.Millisecond), 3)}
		for text, rounds := range map[string]int{"NOPERM no": 1, "LOADING not yet": 4} {
			server.Miniredis().SetError(text)
			_, err := multi.Obtain(bounded(t), w.abc(), long, opt)
			if err == nil || !strings.Contains(err.Error(), text) || errors.Is(err, redislock.ErrNotObtained) {
				t.Errorf("got error %v, want %s", err, text)
			}
			if got := len(w.took()); got != 3*rounds {
				t.Errorf("%s: got %d events, want %d rounds of three", text, got, rounds)
			}
			w.wantFree(t, "a", "c")
		}
	})
}

// wait is a strategy that asks.
type wait func() time.Duration

func (w wait) NextBackOff() time.Duration { return w() }

func TestArguments(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t, redistest.Miniredis)
	rdb := server.Client(t)
	sent := check.Count(rdb, "")
	one, two, small := redislock.New(rdb), redislock.New(rdb), redislock.New(rdb, redislock.WithMaxKeys(2))
	part := func(client *redislock.Client, place string, keys ...string) multi.Part {
		return multi.Part{Client: client, Place: place, Set: redislock.Set{Write: keys}}
	}
	for _, test := range []struct {
		name  string
		parts []multi.Part
		opt   *redislock.Options
		ttl   time.Duration
		is    error
		text  string
	}{
		{name: "no parts", is: &redislock.InvalidError{Argument: "keys"}},
		{name: "no keys", parts: []multi.Part{part(one, "a", "k"), part(two, "b")}, is: &redislock.InvalidError{Argument: "keys"}, text: "parts[1] has none"},
		{name: "empty key", parts: []multi.Part{part(one, "a", "k"), part(two, "b", "l", "")}, is: &redislock.InvalidError{Argument: "keys"}, text: "part 2 of 2"},
		{name: "too many keys", parts: []multi.Part{part(one, "a", "k"), part(small, "b", "1", "2", "3")}, is: &redislock.InvalidError{Argument: "keys"}, text: `"1" and 2 more at "b"`},
		{name: "no client", parts: []multi.Part{part(one, "a", "k"), part(nil, "b", "k")}, text: "parts[1] has no Client"},
		{name: "one place for two clients", parts: []multi.Part{part(one, "a", "k"), part(two, "a", "l")}, text: `"a" has two Clients`},
		{name: "two places for one client", parts: []multi.Part{part(one, "a", "k"), part(one, "b", "l")}, text: `"a" and "b"`},
		{name: "no place", parts: []multi.Part{part(one, "a", "k"), part(two, "", "l")}, text: "needs a Place"},
		{name: "no places", parts: []multi.Part{part(one, "", "k"), part(two, "", "l")}, text: "Place of its own"},
		{name: "a key in two parts", parts: []multi.Part{part(one, "", "k", "l"), {Client: one, Set: redislock.Set{Read: []string{"m", "l"}}}}, is: &redislock.InvalidError{Argument: "keys"}, text: `"l" is in parts[0] and in parts[1]`},
		{name: "intent", opt: &redislock.Options{Intent: true}, is: errors.ErrUnsupported},
		{name: "queue without watchdog", opt: &redislock.Options{Queue: true}, text: "Queue needs Watchdog"},
		{name: "ttl", ttl: -1, is: &redislock.InvalidError{Argument: "ttl"}},
	} {
		if test.opt != nil || test.ttl != 0 {
			test.parts = []multi.Part{part(one, "a", "k"), part(two, "b", "k")}
		}
		if test.ttl == 0 {
			test.ttl = long
		}
		_, err := multi.Obtain(bounded(t), test.parts, test.ttl, test.opt)
		if err == nil || test.is != nil && !errors.Is(err, test.is) || !strings.Contains(err.Error(), test.text) {
			t.Errorf("%s: got error %v, want %v with %q", test.name, err, test.is, test.text)
		}
	}
	for _, token := range []string{"", "a|b"} {
		_, err := multi.Client{}.As(token).Obtain(bounded(t), []multi.Part{part(one, "a", "k"), part(two, "b", "k")}, long, nil)
		wantIs(t, err, &redislock.InvalidError{Argument: "token"})
	}
	if n := sent.Load(); n != 0 {
		t.Errorf("%d commands were sent", n)
	}

	// The same key at two places counts as two keys.
	lock := must[*multi.Lock](t)(multi.Obtain(bounded(t),
		[]multi.Part{part(one, "a", t.Name()), part(two, "b", t.Name()+"2")}, long, nil))
	noError(t, lock.Release(bounded(t)))
}
