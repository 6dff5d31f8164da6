package line_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// Waits whose contexts end at any moment, most of them just when the waiter gets the lock. Beside them others wait
// without an end, and must not have to wait longer than until it is their turn.
func TestQueueCancelHammer(t *testing.T) {
	onServers(t, func(t *testing.T, b *redistest.Server) {
		w := world.New(t, b)
		worlds := []*world.World{w, beside(t, w, b)}
		keys := w.Keys("a", "b")
		sets := [][]string{keys, keys[:1], keys[1:], {keys[1], keys[0]}}
		inside := map[string]*atomic.Int32{keys[0]: {}, keys[1]: {}}
		var turns atomic.Int64
		began := time.Now()
		// patience is how long somebody may wait in line: until a message comes, and as long as all others take for their turns
		// on this machine.
		patience := func() time.Duration {
			return world.Soon + 28*time.Since(began)/time.Duration(max(1, turns.Load()))
		}
		turn := func(ctx context.Context, who int) (bool, error) {
			opt := world.Queue()
			opt.Metadata = fmt.Sprint(who)
			set, obtaining := sets[rand.N(len(sets))], ctx
			if who%4 < 2 { // the others wait behind those of their Client
				obtaining = world.Apart(ctx)
			}
			lock, err := worlds[who%2].Client.Obtain(obtaining, set, world.Long, opt)
			if err != nil {
				if ctx.Err() == nil {
					return false, err
				}
				return false, nil
			}
			turns.Add(1)
			for _, key := range set {
				if inside[key].Add(1) != 1 {
					t.Error("two are inside")
				}
			}
			for _, key := range set {
				inside[key].Add(-1)
			}
			return true, lock.Release(t.Context())
		}
		var hasty, served atomic.Int64 // waits, and those of them that have got the lock
		someOfBoth := func() bool { n := served.Load(); return n > 0 && n < hasty.Load() }
		var longest atomic.Int64
		longest.Store(int64(40 * time.Millisecond)) // that one of them waits; it becomes what a turn takes here
		var wg sync.WaitGroup
		for who := range 24 {
			wg.Go(func() {
				// On a machine that is busy it takes more of them until one is long enough.
				for i := 0; i < 40 || i < 400 && !someOfBoth(); i++ {
					most := longest.Load()
					ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.N(most)))
					ok, err := turn(ctx, who)
					cancel()
					hasty.Add(1)
					if err != nil {
						t.Errorf("%d: served: %v, error: %v", who, ok, err)
						return
					}
					if ok {
						served.Add(1)
						most -= most / 20
					} else {
						most += most / 20
					}
					longest.Store(most)
				}
			})
		}
		for who := range 4 {
			wg.Go(func() {
				for range 20 {
					watch := check.StartWatch(t)
					ok, err := turn(t.Context(), 100+who)
					if took := watch.Took(); err != nil || !ok || took > patience() {
						t.Errorf("%d: served: %v after %v, error: %v", who, ok, took, err)
						return
					}
				}
			})
		}
		wg.Wait()
		if !someOfBoth() {
			t.Errorf("%d hasty waits of %d had an end, want some of both", served.Load(), hasty.Load())
		}
		w.OnlyGuardsSoon(t, keys...)
	})
}

func TestQueueUnreachableAtFirst(t *testing.T) {
	t.Parallel()
	for _, fault := range []string{"refused", "not subscribed"} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			b := redistest.Shared(t, redistest.Redis)
			relay, w := redistest.NewRelay(t, b.Addr()), world.New(t, b)
			rdb := relay.Client(t, world.Impatient, func(o *redis.Options) { o.DialerRetries = 1 })
			client := redislock.New(rdb)
			if fault == "not subscribed" { // it can ask, and not subscribe
				client = newSplit(b.Client(t), rdb)
			}
			t.Cleanup(client.Close)
			key := w.Key("k")
			holder := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), []string{key}, world.Long, nil))
			relay.Refuse(true)
			_, err := client.Obtain(t.Context(), []string{key}, world.Long, world.Queue())
			if err == nil || errors.Is(err, redislock.ErrNotObtained) {
				t.Errorf("got error %v, want why nothing is known", err)
			}
			opt := world.Queue()
			opt.RetryStrategy = redislock.LinearBackoff(50 * time.Millisecond)
			turns := make(chan world.Turn, 1)
			go func() {
				lock, err := client.Obtain(t.Context(), []string{key}, world.Long, opt)
				turns <- world.Turn{Who: "a", Lock: lock, Err: err}
			}()
			world.WantNobody(t, turns)
			relay.Refuse(false)
			w.InLine(t, key, 1)
			check.NoError(t, holder.Release(t.Context()))
			check.NoError(t, world.WantTurn(t, turns, "a")[0].Release(t.Context()))
			noTraceSoon(t, w, key)
		})
	}
}

func TestQueueClientClosed(t *testing.T) {
	t.Parallel()
	for name, n := range map[string]int{"one waits": 1, "many wait": 100} {
		t.Run(name, func(t *testing.T) {
			onServers(t, func(t *testing.T, s *redistest.Server) {
				for range 20 {
					clientClosed(t, s, n)
				}
			})
		})
	}
}

// clientClosed closes a Client for which n wait, and at once its Redis client.
func clientClosed(t *testing.T, s *redistest.Server, n int) {
	t.Helper()
	w := world.New(t, s)
	key := w.Key("k")
	holder := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), []string{key}, world.Long, nil))
	rdb := s.Client(t)
	client := redislock.New(rdb)
	ends := make(chan error, n)
	for range n {
		go func() {
			_, err := client.Obtain(world.Apart(t.Context()), []string{key}, world.Long, world.Queue())
			ends <- err
		}()
	}
	w.InLine(t, key, n)
	client.Close()
	check.NoError(t, rdb.Close())
	for range n {
		err, ok := check.Receive(ends, world.Soon)
		if !ok {
			t.Fatal("somebody still waits")
		}
		check.Is(t, err, redis.ErrClosed)
	}
	if line := check.Must[[]redislock.KeyState](t)(w.Client.Inspect(t.Context(), []string{key}))[0].Line; len(line) != 0 {
		t.Errorf("%d of %d are left in line", len(line), n)
	}
	check.Eventually(t, time.Second, "no subscription is left", func() bool { return subscriptions(t, w.RDB) == 0 })
	check.NoError(t, holder.Release(t.Context()))
	w.WantNoTrace(t, key)
}

func subscriptions(t *testing.T, rdb *redis.Client) int {
	t.Helper()
	return len(check.Must[[]string](t)(rdb.PubSubChannels(t.Context(), "redislock:wake:*").Result()))
}

// The connection is closed a little after the last waiter that needed it has gone.
func TestQueueLingers(t *testing.T) {
	onServers(t, func(t *testing.T, s *redistest.Server) {
		w := world.New(t, s)
		served := func() {
			key := w.Key("k")
			holder := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), []string{key}, world.Long, world.Queue()))
			ended := waitTogether(t, 10, key, w)
			check.NoError(t, holder.Release(t.Context()))
			ended(world.Soon)
			noTraceSoon(t, w, key)
		}
		served()
		time.Sleep(time.Second)
		served()
		if n := subscriptions(t, w.RDB); n != 1 {
			t.Errorf("%d channels are subscribed to just after the last wait, want 1", n)
		}
		check.Eventually(t, world.Polled, "the subscription ends", func() bool { return subscriptions(t, w.RDB) == 0 })
		check.Eventually(t, time.Second, "its connection ends", func() bool {
			return check.Must[string](t)(w.RDB.Do(t.Context(), "client", "list", "type", "pubsub").Text()) == ""
		})
		served() // and begins anew
	})
}
