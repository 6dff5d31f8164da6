package fencing_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-14de3678/redislock/fencing"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// base is a number as a lock gives it: digits that a float in %.14g, which Lua prints, would lose.
const base = 1_760_000_000_000_001

// wantIs reports an error that is not the target, which may be nil.
func wantIs(t *testing.T, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Errorf("got error %v, want %v", err, target)
	}
}

// wantStale reports an error that is not the StaleError.
func wantStale(t *testing.T, err error, want fencing.StaleError) {
	t.Helper()
	var got *fencing.StaleError
	if !errors.Is(err, fencing.ErrStale) || !errors.As(err, &got) {
		t.Fatalf("got error %v, want a StaleError", err)
	}
	if diff := cmp.Diff(want, *got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// ways are the ways into a Guard, which admit the same numbers.
var ways = map[string]func(g *fencing.Guard, resource string, number int64) error{
	"admit": (*fencing.Guard).Admit,
	"do": func(g *fencing.Guard, resource string, number int64) error {
		called := false
		err := g.Do(context.Background(), resource, number, func() error { called = true; return nil })
		if called != (err == nil) {
			return fmt.Errorf("called: %t, and the error is %w", called, err)
		}
		return err
	},
}

func TestGuard(t *testing.T) {
	t.Parallel()
	type step struct {
		resource string
		number   int64
		want     error
	}
	for name, steps := range map[string][]step{
		"rising":             {{"a", base, nil}, {"a", base + 1, nil}, {"a", base + 1000, nil}},
		"equal":              {{"a", base, nil}, {"a", base, nil}},
		"stale":              {{"a", base + 1, nil}, {"a", base, fencing.ErrStale}, {"a", 1, fencing.ErrStale}, {"a", base + 1, nil}},
		"refused is no news": {{"a", 7, nil}, {"a", math.MaxInt64, fencing.ErrInvalidNumber}, {"a", 5, fencing.ErrStale}, {"a", 7, nil}},
		"resources apart":    {{"a", base, nil}, {"b", 1, nil}, {"a", base, nil}, {"", 1, nil}},
		"invalid": {
			{"a", 0, fencing.ErrInvalidNumber},
			{"a", -1, fencing.ErrInvalidNumber},
			{"a", math.MinInt64, fencing.ErrInvalidNumber},
			{"a", 1 << 53, fencing.ErrInvalidNumber},
			{"a", 1<<53 - 1, nil},
		},
	} {
		for way, in := range ways {
			t.Run(name+"/"+way, func(t *testing.T) {
				t.Parallel()
				var g fencing.Guard
				for _, s := range steps {
					wantIs(t, in(&g, s.resource, s.number), s.want)
				}
			})
		}
	}
}

func TestStaleError(t *testing.T) {
	t.Parallel()
	for way, in := range ways {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			var g fencing.Guard
			wantIs(t, in(&g, "stock:9", base+1), nil)
			err := in(&g, "stock:9", base)
			wantStale(t, err, fencing.StaleError{Resource: "stock:9", Number: base, Newest: base + 1})
			const want = `fencing: stale number 1760000000000001 for "stock:9": it has seen 1760000000000002`
			if got := err.Error(); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func TestGuardForgets(t *testing.T) {
	t.Parallel()
	for way, in := range ways {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			g := fencing.Guard{Limit: 2}
			stale := func(resource string, number, newest int64) {
				t.Helper()
				err := in(&g, resource, number)
				wantStale(t, err, fencing.StaleError{Resource: resource, Number: number, Newest: newest})
			}
			wantIs(t, in(&g, "a", 10), nil)
			wantIs(t, in(&g, "b", 20), nil)
			wantIs(t, in(&g, "a", 10), nil)
			wantIs(t, in(&g, "c", 30), nil) // forgets b, which was not seen for the longest time

			stale("new", 19, 20) // b is forgotten, its number is not
			stale("b", 19, 20)
			wantIs(t, in(&g, "a", 10), nil) // known by name
			stale("c", 29, 30)              // a refusal is no news, so c is now the next to go
			wantIs(t, in(&g, "new", 20), nil)
			stale("c", 29, 30)
			wantIs(t, in(&g, "c", 30), nil) // forgets a, whose number is smaller
			stale("a", 10, 30)
			stale("b", 29, 30)
		})
	}
}

// By default nothing is forgotten in a service of usual size.
func TestGuardDefaultLimit(t *testing.T) {
	t.Parallel()
	const limit = 1 << 16
	var g fencing.Guard
	for i := range limit {
		wantIs(t, g.Admit(fmt.Sprint(i), base), nil)
	}
	wantIs(t, g.Admit("one more", 1), nil)
	wantIs(t, g.Admit("another", 1), fencing.ErrStale)
}

// A resource that is being written stays known, however many others come.
func TestGuardKeepsWhatIsInUse(t *testing.T) {
	t.Parallel()
	g := fencing.Guard{Limit: 1}
	err := g.Do(t.Context(), "a", 5, func() error {
		wantIs(t, g.Admit("a", 5), nil)
		for i := range 10 {
			wantIs(t, g.Admit(fmt.Sprint(i), base), nil)
		}
		wantIs(t, g.Admit("a", 4), fencing.ErrStale)
		return g.Admit("a", 6)
	})
	wantIs(t, err, nil)
}

// So it does if it was known before; then a second write waits for the first one, and afterwards it can be forgotten.
func TestGuardKeepsWhatIsInUseAgain(t *testing.T) {
	t.Parallel()
	for way, in := range ways {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := fencing.Guard{Limit: 1}
				wantIs(t, in(&g, "a", 5), nil)
				writes, end, results := 0, make(chan struct{}), make(chan error, 2)
				write := func() error {
					if writes++; writes > 1 {
						t.Errorf("%d writes run at once", writes)
					}
					<-end
					writes--
					return t.Context().Err()
				}
				for range cap(results) {
					go func() { results <- g.Do(t.Context(), "a", 5, write) }()
					synctest.Wait()
					wantIs(t, g.Admit("b", 4), nil)
					wantIs(t, g.Admit("c", 4), nil)
				}
				close(end)
				for range cap(results) {
					wantIs(t, <-results, nil)
				}
				wantIs(t, g.Admit("b", 4), nil)
				wantStale(t, g.Admit("c", 4), fencing.StaleError{Resource: "c", Number: 4, Newest: 5}) // a is forgotten, its number is not
			})
		})
	}
}

func TestGuardDoReturnsTheErrorOfTheWrite(t *testing.T) {
	t.Parallel()
	var g fencing.Guard
	errDisk := errors.New("disk full")
	wantIs(t, g.Do(t.Context(), "a", 2, func() error { return errDisk }), errDisk)
	wantIs(t, g.Admit("a", 1), fencing.ErrStale) // the holder was there, whatever it wrote
	wantIs(t, ways["do"](&g, "a", 2), nil)
}

// However a write ends, its resource can be forgotten afterwards.
func TestGuardLetsGo(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, do := range map[string]func(g *fencing.Guard){
		"done":   func(g *fencing.Guard) { _ = g.Do(t.Context(), "a", 5, func() error { return nil }) },
		"failed": func(g *fencing.Guard) { _ = g.Do(t.Context(), "a", 5, func() error { return errors.ErrUnsupported }) },
		"ended":  func(g *fencing.Guard) { _ = g.Do(ended, "a", 5, func() error { return nil }) },
		"panicked": func(g *fencing.Guard) {
			defer func() { _ = recover() }()
			_ = g.Do(t.Context(), "a", 5, func() error { panic("write") })
		},
		"stale": func(g *fencing.Guard) {
			_ = g.Do(t.Context(), "a", 5, func() error { return nil })
			_ = g.Do(t.Context(), "a", 4, func() error { return nil })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := fencing.Guard{Limit: 1}
			do(&g)
			wantIs(t, g.Admit("b", 9), nil)
			wantStale(t, g.Admit("c", 4), fencing.StaleError{Resource: "c", Number: 4, Newest: 5})
		})
	}
}

func TestGuardSurvivesAPanic(t *testing.T) {
	t.Parallel()
	var g fencing.Guard
	func() {
		defer func() { _ = recover() }()
		_ = g.Do(t.Context(), "a", 2, func() error { panic("write") })
	}()
	wantIs(t, ways["do"](&g, "a", 2), nil)
}

// A write that has begun is not disturbed. A newer one waits for it. An older one that waits is refused when the newer one
// comes.
func TestGuardDoWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var g fencing.Guard
		var log []int64
		begun, end := make(chan struct{}), make(chan struct{})
		results := make([]chan error, 4)
		do := func(number int64, write func()) {
			results[number] = make(chan error, 1)
			go func() {
				results[number] <- g.Do(t.Context(), "a", number, func() error {
					write()
					log = append(log, number)
					return nil
				})
			}()
			synctest.Wait()
		}
		do(1, func() { close(begun); <-end })
		<-begun
		do(2, func() {})
		do(3, func() {})
		wantStale(t, g.Admit("a", 2), fencing.StaleError{Resource: "a", Number: 2, Newest: 3}) // Admit does not wait
		wantIs(t, ways["do"](&g, "b", 1), nil)                                                 // nor do other resources
		if len(log) != 0 {
			t.Errorf("%v were written while another write ran", log)
		}
		close(end)
		wantIs(t, <-results[1], nil)
		wantStale(t, <-results[2], fencing.StaleError{Resource: "a", Number: 2, Newest: 3})
		wantIs(t, <-results[3], nil)
		if diff := cmp.Diff([]int64{1, 3}, log); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}

func TestGuardDoGivesUp(t *testing.T) {
	t.Parallel()
	var g fencing.Guard
	errShutdown := errors.New("shutdown")
	ctx, cancel := context.WithCancelCause(t.Context())
	errCalled := errors.New("it was called")
	never := func() error { return errCalled }
	err := g.Do(t.Context(), "a", 1, func() error {
		waiter := make(chan error, 1)
		go func() { waiter <- g.Do(ctx, "a", 2, never) }()
		cancel(errShutdown)
		return <-waiter
	})
	wantIs(t, err, errShutdown)
	for range 20 { // a free place and an ended context: not a matter of luck
		wantIs(t, g.Do(ctx, "a", 2, never), errShutdown)
	}
	wantIs(t, g.Admit("a", 1), fencing.ErrStale) // a holder of 2 was there
	wantIs(t, ways["do"](&g, "a", 2), nil)
}

// Many holders write at the same time; what each resource sees is one at a time, in order.
func TestGuardHammer(t *testing.T) {
	t.Parallel()
	const resources, goroutines, calls = 8, 16, 200
	g := fencing.Guard{Limit: 3} // below resources, so that names come and go
	var clock, written atomic.Int64
	last := make([]int64, resources) // without a lock: the race detector watches the Guard
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for range calls {
				number := max(1, clock.Add(1)-rand.Int64N(5))
				at := rand.IntN(resources)
				err := g.Do(t.Context(), fmt.Sprint(at), number, func() error {
					if number < last[at] {
						t.Errorf("%d was written after %d", number, last[at])
					}
					last[at] = number
					written.Add(1)
					return nil
				})
				if err != nil && !errors.Is(err, fencing.ErrStale) {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if written.Load() == 0 {
		t.Error("nothing was written")
	}
}
