package local_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/world"
)

// Whoever waits behind a lock, and is carried by its Release, asks when that has not given it the keys. What it asks closes the Release if that
// may have given them all the same, and nothing if it has certainly not.
func TestAsksAfterARelease(t *testing.T) {
	t.Parallel()
	const given, asks, closes = "", "obtain", "obtain, closes"
	for name, c := range map[string]struct {
		answer string // to the Release
		want   string // what is asked next
	}{
		"given":                {":2\r\n", given},
		"free":                 {":1\r\n", asks},
		"gone":                 {"*2\r\n:-1\r\n:1\r\n", asks},
		"the server is busy":   {"-LOADING Redis is loading\r\n", asks},
		"the script failed":    {"-ERR broken\r\n", closes},
		"perhaps executed":     {"-UNBLOCKED force unblock\r\n", closes},
		"no reply of a script": {"+what\r\n", closes},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				var asked []string
				holder, released := "", false
				p := &world.FakeServer{Script: func(run check.Run) string {
					mu.Lock()
					defer mu.Unlock()
					switch {
					case holder == "":
						holder = run.Value
					case run.Release != nil && run.Value == holder && !released:
						released = true
						if run.Next == nil {
							t.Error("the Release carries nobody")
						}
						return c.answer
					case run.Obtain != nil && !released:
						return world.HeldBySomebody
					case run.Obtain != nil:
						line := "obtain"
						if len(run.Stamp.Closes) > 0 {
							line += ", closes"
						}
						asked = append(asked, line)
					}
					return ":1\r\n"
				}}
				client := world.NewClient(t, p.Client(t), redislock.WithHooks(redislock.Hooks{
					Lost: func(context.Context, redislock.Event) {}, // with hooks the first one has a place before the others
				}))
				lock := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{"k"}, world.Long, world.Queue()))
				next := make(chan error, 1)
				go func() {
					lock, err := client.Obtain(t.Context(), []string{"k"}, world.Long, world.Queue())
					if err == nil {
						err = lock.Release(t.Context())
					}
					next <- err
				}()
				synctest.Wait()
				began := time.Now()
				said := lock.Release(t.Context())
				if err := <-next; err != nil {
					t.Errorf("the next one has ended with %v", err)
				}
				if took := time.Since(began); took > 0 {
					t.Errorf("the next one has waited %v after the Release, which said %v", took, said)
				}
				mu.Lock()
				defer mu.Unlock()
				if diff := cmp.Diff(c.want, strings.Join(asked, "; ")); diff != "" {
					t.Errorf("asked (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A lock that was passed on is printed as released, and has no token any more: that is the next one's. One that nobody waits for is released,
// and keeps its token.
func TestPassedOnOrReleased(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &world.FakeServer{Script: func(check.Run) string { return ":1\r\n" }}
		var kept []time.Duration
		client := world.NewClient(t, p.Client(t), redislock.WithHooks(redislock.Hooks{
			Released: func(_ context.Context, e redislock.Event) { kept = append(kept, e.Kept) },
		}))
		opt := &redislock.Options{Queue: true, PassOn: time.Minute}
		obtain := func() *redislock.Lock {
			return check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{"k"}, world.Long, opt))
		}
		lock, next := obtain(), make(chan *redislock.Lock)
		go func() { next <- obtain() }()
		synctest.Wait()
		check.NoError(t, lock.Release(t.Context()))
		last := <-next
		check.NoError(t, last.Release(t.Context()))
		for _, c := range []struct {
			lock *redislock.Lock
			has  bool
		}{{lock, false}, {last, true}} {
			if got := c.lock.String(); got != `write "k", released` || (c.lock.Token() != "") != c.has {
				t.Errorf("got %s, with token %q; want it to have one: %t", got, c.lock.Token(), c.has)
			}
		}
		if diff := cmp.Diff([]time.Duration{0, 0}, kept); diff != "" {
			t.Errorf("kept (-want +got):\n%s", diff)
		}
	})
}
