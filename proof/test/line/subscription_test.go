package line_test

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A message that comes over a new subscription may be of another server, whose clock says nothing about
// the answers of the one before: it asks again.
func TestQueueOtherClock(t *testing.T) {
	world.Bubble(t, func(t *testing.T, _ *world.World, _ *redistest.Mini, _ *world.Journal) {
		const ttl, here = time.Minute, int64(1_000_000_000)
		var id atomic.Pointer[string]
		var asked, granted atomic.Int64
		p := &world.FakeServer{Script: func(run check.Run) string {
			switch {
			case world.AsksFirst(run):
				return world.HeldBySomebody
			case !world.StandsInLine(run):
				return ":1\r\n"
			}
			who, _ := run.Waiter()
			id.Store(&who)
			if asked.Add(1); granted.Load() > 0 {
				return ":1\r\n"
			}
			return world.InPlace(here, 1)
		}}
		p.Subscribe = func(n int, channel string) string {
			if n == 1 {
				return world.Subscribed(channel)
			}
			granted.Add(1)
			// Its clock is ahead by two seconds: the grant seems to be of just now.
			return world.Published(channel, "g|"+*id.Load()+"|1002000000|0")
		}
		client := redislock.New(p.Client(t))
		defer client.Close()
		time.AfterFunc(2*time.Second, p.Cut)
		lock := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{"k"}, ttl, world.Queue()))
		if granted.Load() == 0 || asked.Load() < 2 {
			t.Errorf("asked %d times, with %d grants published; want it to ask when it gets one", asked.Load(), granted.Load())
		}
		if left := time.Until(lock.Deadline()); left < ttl-2*time.Second {
			t.Errorf("got deadline in %v, want it counted from the last ask", left)
		}
		check.NoError(t, lock.Release(t.Context()))
	})
}

// The answer says that nobody has subscribed to the waiter's channel where its keys are: it subscribes anew.
func TestQueueNobodyHears(t *testing.T) {
	world.Bubble(t, func(t *testing.T, _ *world.World, _ *redistest.Mini, _ *world.Journal) {
		p := new(world.FakeServer)
		p.Script = func(run check.Run) string {
			switch {
			case world.AsksFirst(run):
				return world.HeldBySomebody
			case !world.StandsInLine(run):
				return ":1\r\n"
			case p.Subscriptions() > 1:
				return ":1\r\n"
			}
			return world.InPlace(1, 0)
		}
		client := redislock.New(p.Client(t))
		defer client.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		lock := check.Must[*redislock.Lock](t)(client.Obtain(ctx, []string{"k"}, time.Minute, world.Queue()))
		check.NoError(t, lock.Release(t.Context()))
	})
}

// The same with servers: the subscription leads to one, the keys are at the other.
func TestQueueHeardElsewhere(t *testing.T) {
	t.Parallel()
	here, elsewhere := redistest.Start(t, redistest.Redis), redistest.Shared(t, redistest.Redis)
	w := world.New(t, here)
	var dials atomic.Int64
	rdb := here.Client(t, func(opt *redis.Options) {
		opt.PoolSize = 1 // so the second connection is that of the subscription
		opt.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			if dials.Add(1) == 2 {
				addr = elsewhere.Addr()
			}
			return new(net.Dialer).DialContext(ctx, network, addr)
		}
	})
	check.NoError(t, rdb.Ping(t.Context()).Err())
	client := redislock.New(rdb)
	t.Cleanup(client.Close)
	key := w.Key("k")
	holder := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), []string{key}, world.Long, nil))
	turns := make(chan world.Turn, 1)
	(&world.World{Client: client}).Wait(t.Context(), turns, "next", []string{key}, nil)
	w.InLine(t, key, 1)
	check.Eventually(t, 4*world.Polled, "it has subscribed where its key is", func() bool { return subscriptions(t, w.RDB) == 1 })
	check.NoError(t, holder.Release(t.Context()))
	check.NoError(t, world.WantTurn(t, turns, "next")[0].Release(t.Context()))
	noTraceSoon(t, w, key)
}

// A subscription that is refused for good ends the Obtain. If the reason may pass, the Obtain subscribes a few more times,
// and then asks as its strategy says.
func TestQueueSubscriptionRefused(t *testing.T) {
	t.Parallel()
	for text, tries := range map[string]int{"NOPERM this user has no permissions": 1, "LOADING not yet": 4} {
		t.Run(text, func(t *testing.T) {
			world.Bubble(t, func(t *testing.T, _ *world.World, _ *redistest.Mini, _ *world.Journal) {
				asked := 0
				p := &world.FakeServer{Script: func(check.Run) string { asked++; return world.HeldBySomebody }}
				p.Subscribe = func(int, string) string { return "-" + text + "\r\n" }
				client := redislock.New(p.Client(t))
				defer client.Close()
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				_, err := client.Obtain(ctx, []string{"k"}, time.Minute, world.Queue())
				if err == nil || !strings.Contains(err.Error(), text) || ctx.Err() != nil {
					t.Errorf("got error %v, want %q", err, text)
				}
				if got := p.Subscriptions(); got != tries {
					t.Errorf("it has subscribed %d times, want %d", got, tries)
				}
			})
		})
	}
	t.Run("who stands in line goes on", func(t *testing.T) {
		world.Bubble(t, func(t *testing.T, _ *world.World, _ *redistest.Mini, _ *world.Journal) {
			p := new(world.FakeServer)
			p.Script = func(run check.Run) string {
				switch {
				case world.AsksFirst(run):
					return world.HeldBySomebody
				case !world.StandsInLine(run), p.Subscriptions() > 8:
					return ":1\r\n"
				}
				return world.InPlace(1, 1)
			}
			p.Subscribe = func(n int, channel string) string {
				if n == 1 {
					return world.Subscribed(channel)
				}
				return "-NOPERM no longer\r\n"
			}
			client := redislock.New(p.Client(t))
			defer client.Close()
			time.AfterFunc(time.Second, p.Cut)
			lock := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{"k"}, time.Hour, world.Queue()))
			check.NoError(t, lock.Release(t.Context()))
		})
	})
}

// A waiter whose subscriptions lead elsewhere again and again subscribes when it asks, and not all the time.
func TestQueueNeverHeard(t *testing.T) {
	world.Bubble(t, func(t *testing.T, _ *world.World, _ *redistest.Mini, _ *world.Journal) {
		const most = 200 // in ten minutes
		var elsewhere atomic.Bool
		var subscribed atomic.Int64
		p := new(world.FakeServer)
		p.Subscribe = func(_ int, channel string) string {
			if subscribed.Add(1) > most {
				return "" // so that time goes on
			}
			return world.Subscribed(channel)
		}
		p.Script = func(run check.Run) string {
			switch {
			case world.AsksFirst(run):
				return world.HeldBySomebody
			case elsewhere.Load():
				return world.InPlace(1, 0)
			}
			return ":1\r\n"
		}
		elsewhere.Store(true)
		turns := make(chan world.Turn, 1)
		(&world.World{Client: world.NewClient(t, p.Client(t))}).Wait(t.Context(), turns, "waiter", []string{"k"}, nil)
		time.Sleep(10 * time.Minute)
		elsewhere.Store(false)
		check.NoError(t, (<-turns).Lock.Release(t.Context()))
		if got := subscribed.Load(); got < 10 || got > most {
			t.Errorf("it has subscribed %d times in ten minutes, want at least 10 and at most %d", got, most)
		}
	})
}
