package redislock_test

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
)

// A message that comes over a new subscription may be of another server, whose clock says nothing about
// the answers of the one before: asking tells.
func TestQueueOtherClock(t *testing.T) {
	bubble(t, func(t *testing.T, _ *world, _ *redistest.Mini, _ *journal) {
		const ttl, here = time.Minute, int64(1_000_000_000)
		var id atomic.Pointer[string]
		var asked, granted atomic.Int64
		p := &puppet{script: func(run check.Run) string {
			switch {
			case asksFirst(run):
				return heldBySomebody
			case !standsInLine(run):
				return ":1\r\n"
			}
			who, _ := run.Waiter()
			id.Store(&who)
			if asked.Add(1); granted.Load() > 0 {
				return ":1\r\n"
			}
			return inPlace(here, 1)
		}}
		p.hears = func(n int, channel string) string {
			if n == 1 {
				return subscribed(channel)
			}
			granted.Add(1)
			// Its clock is ahead by two seconds: the grant seems to be of just now.
			return published(channel, "g|"+*id.Load()+"|1002000000|0")
		}
		client := redislock.New(p.client(t))
		defer client.Close()
		time.AfterFunc(2*time.Second, p.cut)
		lock := must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{"k"}, ttl, queue()))
		if granted.Load() == 0 || asked.Load() < 2 {
			t.Errorf("asked %d times, with %d grants told; want it to ask when it is told", asked.Load(), granted.Load())
		}
		if left := time.Until(lock.Deadline()); left < ttl-2*time.Second {
			t.Errorf("got deadline in %v, want it counted from the last ask", left)
		}
		noError(t, lock.Release(t.Context()))
	})
}

// A waiter is told by the answer that nobody hears its channel where its keys are: it subscribes anew.
func TestQueueNobodyHears(t *testing.T) {
	bubble(t, func(t *testing.T, _ *world, _ *redistest.Mini, _ *journal) {
		p := new(puppet)
		p.script = func(run check.Run) string {
			switch {
			case asksFirst(run):
				return heldBySomebody
			case !standsInLine(run):
				return ":1\r\n"
			case p.subscriptions() > 1:
				return ":1\r\n"
			}
			return inPlace(1, 0)
		}
		client := redislock.New(p.client(t))
		defer client.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		lock := must[*redislock.Lock](t)(client.Obtain(ctx, []string{"k"}, time.Minute, queue()))
		noError(t, lock.Release(t.Context()))
	})
}

// The same with servers: the subscription leads to one, the keys are at the other.
func TestQueueHeardElsewhere(t *testing.T) {
	t.Parallel()
	here, elsewhere := redistest.Start(t, redistest.Redis), redistest.Shared(t, redistest.Redis)
	w := newWorld(t, here)
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
	noError(t, rdb.Ping(t.Context()).Err())
	client := redislock.New(rdb)
	t.Cleanup(client.Close)
	key := w.key("k")
	holder := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), []string{key}, long, nil))
	turns := make(chan turn, 1)
	(&world{client: client}).wait(t.Context(), turns, "next", []string{key}, nil)
	w.inLine(t, key, 1)
	eventually(t, 4*polled, "it hears where its key is", func() bool { return subscriptions(t, w.rdb) == 1 })
	noError(t, holder.Release(t.Context()))
	noError(t, wantTurn(t, turns, "next")[0].Release(t.Context()))
	w.noTraceSoon(t, key)
}

// What a subscription is refused for good ends an Obtain that does not stand in line; what may pass is tried
// a few times, and then as its strategy says.
func TestQueueSubscriptionRefused(t *testing.T) {
	t.Parallel()
	for text, tries := range map[string]int{"NOPERM this user has no permissions": 1, "LOADING not yet": 4} {
		t.Run(text, func(t *testing.T) {
			bubble(t, func(t *testing.T, _ *world, _ *redistest.Mini, _ *journal) {
				asked := 0
				p := &puppet{script: func(check.Run) string { asked++; return heldBySomebody }}
				p.hears = func(int, string) string { return "-" + text + "\r\n" }
				client := redislock.New(p.client(t))
				defer client.Close()
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				_, err := client.Obtain(ctx, []string{"k"}, time.Minute, queue())
				if err == nil || !strings.Contains(err.Error(), text) || ctx.Err() != nil {
					t.Errorf("got error %v, want %q", err, text)
				}
				if got := p.subscriptions(); got != tries {
					t.Errorf("it has subscribed %d times, want %d", got, tries)
				}
			})
		})
	}
	t.Run("who stands in line goes on", func(t *testing.T) {
		bubble(t, func(t *testing.T, _ *world, _ *redistest.Mini, _ *journal) {
			p := new(puppet)
			p.script = func(run check.Run) string {
				switch {
				case asksFirst(run):
					return heldBySomebody
				case !standsInLine(run), p.subscriptions() > 8:
					return ":1\r\n"
				}
				return inPlace(1, 1)
			}
			p.hears = func(n int, channel string) string {
				if n == 1 {
					return subscribed(channel)
				}
				return "-NOPERM no longer\r\n"
			}
			client := redislock.New(p.client(t))
			defer client.Close()
			time.AfterFunc(time.Second, p.cut)
			lock := must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{"k"}, time.Hour, queue()))
			noError(t, lock.Release(t.Context()))
		})
	})
}
