package constants_test

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/listen"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A call that the server refuses for the moment is sent four times, after about 40, 160 and 640 ms; while its slot moves,
// after 50 to 100 ms at first, and up to 1.6 s in the end.
func TestCallsAreSentAgain(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		refusal string
		pauses  []time.Duration // the shortest; the longest are `most` as long
		most    time.Duration
		tries   int
	}{
		"refused": {"LOADING not yet", []time.Duration{20 * ms, 80 * ms, 320 * ms}, 3, 4},
		"moving":  {"TRYAGAIN not yet", []time.Duration{50 * ms, 100 * ms, 200 * ms, 400 * ms, 400 * ms}, 2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
				g := &gate{script: "release"}
				rdb := mini.Client(t)
				rdb.AddHook(check.Around{Instead: func(cmd redis.Cmder) bool {
					if !g.pass(cmd) {
						return false
					}
					cmd.SetErr(world.Refusal(test.refusal))
					return true
				}})
				client := world.NewClient(t, rdb)
				least, most := make([]time.Duration, len(test.pauses)), make([]time.Duration, len(test.pauses))
				for range 40 {
					lock := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), w.Keys("a"), time.Second, nil))
					g.begin(true)
					_ = lock.Release(t.Context())
					at := g.times()
					if test.tries > 0 {
						if at = at[:min(len(at), test.tries)]; len(at) != test.tries {
							t.Fatalf("sent after %v, want %d times", at, test.tries)
						}
					}
					for i := range test.pauses {
						pause := at[i+1] - at[i]
						if least[i] == 0 {
							least[i] = pause
						}
						least[i], most[i] = min(least[i], pause), max(most[i], pause)
					}
					g.begin(false)
					time.Sleep(time.Minute)
				}
				for i, pause := range test.pauses {
					if least[i] < pause || most[i] >= test.most*pause || most[i]-least[i] < pause/2 {
						t.Errorf("got pauses %d of %v to %v, want %v to %v", i, least[i], most[i], pause, test.most*pause)
					}
				}
			})
		})
	}
}

// A call waits for replicas for a second, or for a quarter of its lease, rounded down to a power of two.
func TestReplicasAreWaitedFor(t *testing.T) {
	t.Parallel()
	world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
		var waits []any
		w.RDB.AddHook(check.Around{Instead: func(cmd redis.Cmder) bool {
			if cmd.Name() == "wait" {
				waits = append(waits, cmd.Args()[2])
				cmd.(*redis.IntCmd).SetVal(1)
				return true
			}
			return false
		}})
		client := world.NewClient(t, w.RDB, redislock.WithReplicas(1))
		for _, ttl := range []time.Duration{time.Minute, 2 * time.Second} {
			check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), w.Keys(ttl.String()), ttl, nil))
		}
		// The first call is sent anew, because the server did not know the script.
		if got, want := slices.Compact(waits), []any{int64(1000), int64(256)}; !slices.Equal(got, want) {
			t.Errorf("waited for %v ms, want %v", got, want)
		}
	})
}

// An operation that others of its token overtake again and again is sent 101 times.
func TestOvertakenIsSentAgain(t *testing.T) {
	t.Parallel()
	world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
		sent := 0
		w.RDB.AddHook(check.Around{Instead: func(cmd redis.Cmder) bool {
			if check.RunIn(cmd).Of("obtain") {
				sent++
				return check.Answer(cmd, int64(-3))
			}
			return false
		}})
		_, err := w.Client.As(t.Name()).Obtain(t.Context(), w.Keys("a"), time.Minute, nil)
		check.Is(t, err, redislock.ErrUnknownOutcome)
		if sent != 101 {
			t.Errorf("sent %d times, want 101", sent)
		}
	})
}

// A subscription outlives its last waiter by 5 s. One that says nothing for 10 s is asked whether it is still there.
func TestSubscriptionsLinger(t *testing.T) {
	t.Parallel()
	world.Bubble(t, func(t *testing.T, _ *world.World, _ *redistest.Mini, _ *world.Journal) {
		var mu sync.Mutex
		var asked []time.Duration
		began := time.Now()
		p := &world.FakeServer{Script: func(run check.Run) string {
			if world.StandsInLine(run) {
				return world.InPlace(1, 1)
			}
			return world.HeldBySomebody
		}}
		p.Subscribe = func(_ int, channel string) string {
			mu.Lock()
			defer mu.Unlock()
			asked = append(asked, time.Since(began))
			return world.Subscribed(channel)
		}
		client := world.NewClient(t, p.Client(t))
		wait := func(d time.Duration) {
			_, err := client.Obtain(t.Context(), []string{"k"}, time.Minute, &redislock.Options{Queue: true, Wait: d})
			check.Is(t, err, redislock.ErrNotObtained)
		}
		wait(25 * time.Second)
		if got := p.Subscriptions(); got != 1 {
			t.Errorf("%d connections have subscribed, want 1", got)
		}
		time.Sleep(4900 * ms)
		wait(ms) // it is there still
		if got := p.Subscriptions(); got != 1 {
			t.Errorf("%d connections have subscribed after 4.9 s, want 1", got)
		}
		time.Sleep(5100 * ms)
		wait(ms)
		if got := p.Subscriptions(); got != 2 {
			t.Errorf("%d connections have subscribed after 5.1 s more, want 2", got)
		}
		if len(asked) < 3 || asked[1] != 10*time.Second || asked[2] != 20*time.Second {
			t.Errorf("asked after %v, want 10 s and 20 s among them", asked)
		}
	})
}

// Who cannot listen for Breaks tries again after 100 ms, then each time after twice as long, up to 30 s.
func TestListenersTryAgain(t *testing.T) {
	t.Parallel()
	world.Bubble(t, func(t *testing.T, _ *world.World, _ *redistest.Mini, _ *world.Journal) {
		var mu sync.Mutex
		var at []time.Duration
		began := time.Now()
		p := &world.FakeServer{Script: func(check.Run) string { return ":1\r\n" }}
		p.Subscribe = func(int, string) string {
			mu.Lock()
			defer mu.Unlock()
			at = append(at, time.Since(began))
			return "-LOADING not yet\r\n"
		}
		client := world.NewClient(t, p.Client(t), redislock.WithBreakNotices())
		lock := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{"k"}, time.Hour, nil))
		_ = lock.Context(t.Context())
		time.Sleep(90 * time.Second)
		check.NoError(t, lock.Release(t.Context()))
		synctest.Wait()
		want := []time.Duration{0, 100 * ms, 300 * ms, 700 * ms, 1500 * ms, 3100 * ms, 6300 * ms, 12700 * ms, 25500 * ms, 51100 * ms, 81100 * ms}
		mu.Lock()
		defer mu.Unlock()
		if !slices.Equal(at, want) {
			t.Errorf("subscribed after %v, want %v", at, want)
		}
	})
}

// A notice names keys of 8 KiB; what is longer than 12 KiB is none.
func TestNoticesAreShort(t *testing.T) {
	t.Parallel()
	key := func(n int) []string { return []string{string(make([]byte, n))} }
	for n, named := range map[int]bool{8<<10 - 8: true, 8<<10 - 7: false} {
		notice, ok := listen.ParseNotice(listen.Notice{Keys: key(n)}.Text())
		if !ok || (notice.Keys != nil) != named {
			t.Errorf("a key of %d bytes: named %t, want %t", n, notice.Keys != nil, named)
		}
	}
	for n, want := range map[int]bool{12 << 10: true, 12<<10 + 1: false} {
		text := listen.Notice{Reason: string(make([]byte, n-len("b|12345|0|")))}.Text()
		if _, ok := listen.ParseNotice(text); ok != want || len(text) != n {
			t.Errorf("a notice of %d bytes is one: %t, want %t", len(text), ok, want)
		}
	}
}

// A waiter whose answers come too late for its lease asks three times more.
func TestLateWaiterGivesUp(t *testing.T) {
	t.Parallel()
	world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
		rdb, asked := mini.Client(t), 0
		client := world.NewClient(t, rdb)
		check.NoError(t, world.Cycle(t.Context(), client, w.Key("warm"))) // the server knows the scripts
		rdb.AddHook(check.Around{Before: func(cmd redis.Cmder) {
			if check.RunIn(cmd).Of("obtain", "rw") {
				asked++
				time.Sleep(2 * time.Second)
			}
		}})
		_, err := client.Obtain(t.Context(), w.Keys("a"), time.Second, world.Queue())
		check.Is(t, err, redislock.ErrNotObtained)
		if asked != 4 {
			t.Errorf("asked %d times, want 4", asked)
		}
	})
}

// A call waits 10 s for a slot that moves, and the pause that is under way then.
func TestMovingSlotsAreWaitedFor(t *testing.T) {
	t.Parallel()
	world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
		rdb := mini.Client(t)
		var stands atomic.Bool                                         // the slot has its place
		rdb.AddHook(check.Around{Instead: func(cmd redis.Cmder) bool { // of a clean-up, too
			moving := !stands.Load() && check.RunIn(cmd).Of("release")
			if moving {
				cmd.SetErr(world.Refusal("TRYAGAIN not yet"))
			}
			return moving
		}})
		lock := check.Must[*redislock.Lock](t)(world.NewClient(t, rdb).Obtain(t.Context(), w.Keys("a"), time.Second, nil))
		within(t, "waited for", took(func() { _ = lock.Release(t.Context()) }), 10*time.Second, 10800*ms)
		stands.Store(true)
	})
}
