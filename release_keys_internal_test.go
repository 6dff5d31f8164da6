package redislock

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/wire"
)

// A renewal that was under way when keys were freed says that they are lost, and nothing else.
func TestRenewalAroundReleaseKeys(t *testing.T) {
	rdb := redistest.StartMini(t).Client(t)
	client := New(rdb)
	t.Cleanup(client.Close)
	lock, err := client.Obtain(t.Context(), []string{"a", "b", "c"}, time.Minute, &Options{Watchdog: true})
	if err != nil {
		t.Fatal(err)
	}
	renew := func() func() {
		lock.mu.Lock()
		c := lock.watch.renewalLocked()
		lock.mu.Unlock()
		return func() {
			done := make(chan struct{})
			then := c.Then
			c.Then = func(c *wire.Call) {
				then(c)
				close(done)
			}
			client.conn.Start(&c.Call)
			<-done
		}
	}
	late := renew()
	if err := lock.ReleaseKeys(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	before := lock.Deadline()
	late()
	if lock.isLost() {
		t.Fatalf("lost: %v", lock.whyLost())
	}
	for end := time.Now().Add(15 * time.Second); !lock.Deadline().After(before); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the next renewal, of what is left, did not follow at once")
		}
	}
	late = renew()
	if err := rdb.Del(t.Context(), "b").Err(); err != nil {
		t.Fatal(err)
	}
	if err := lock.ReleaseKeys(t.Context(), "c"); err != nil {
		t.Fatal(err)
	}
	late()
	if !lock.isLost() {
		t.Error("the loss of a key that was not freed was not told")
	}
}

// Those who free keys and those who look for claims on them take two mutexes.
func TestReleaseKeysAndClaims(t *testing.T) {
	t.Parallel()
	client := New(redistest.Shared(t, redistest.Redis).Client(t))
	t.Cleanup(client.Close)
	token, keys := t.Name(), make([]string, 200)
	for i := range keys {
		keys[i] = t.Name() + string(rune('0'+i))
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	freed := make(chan error, 1)
	go func() {
		var err error
		for round := 0; round < 3 && err == nil; round++ {
			var lock *Lock
			if lock, err = client.Obtain(ctx, keys, time.Minute, &Options{Token: token}); err != nil {
				break
			}
			for _, key := range keys {
				if failed := lock.ReleaseKeys(ctx, key); failed != nil {
					err = failed
				}
			}
		}
		freed <- err
	}()
	for deadline := time.After(3 * time.Minute); ; {
		select {
		case err := <-freed:
			if err != nil {
				t.Error(err)
			}
			return
		case <-deadline:
			t.Fatal("they wait for each other")
		default:
			looks := make(chan struct{})
			go func() {
				w := ownerOf(token)
				_ = w.isIdle()
				w.done(token)
				close(looks)
			}()
			select {
			case <-looks:
			case <-deadline:
				t.Fatal("they wait for each other")
			}
		}
	}
}

// A claim covers what the lock has: what was freed a clean-up may take.
func TestReleaseKeysReducesClaim(t *testing.T) {
	client := New(redistest.StartMini(t).Client(t))
	t.Cleanup(client.Close)
	lock, err := client.Obtain(t.Context(), []string{"a", "b", "c"}, time.Minute, &Options{Token: t.Name()})
	if err != nil {
		t.Fatal(err)
	}
	for i, key := range []string{"b", "a"} {
		if err := lock.ReleaseKeys(t.Context(), key); err != nil {
			t.Fatal(err)
		}
		clearing := newCall(t.Context(), releaseScript, []string{"a", "b", "c"}, []string{"1", "2", "3"}, &lock.value, 0)
		clearing.ownedBy(lock.owner, lessens, client.conn)
		clearing.frees = true
		lock.owner.stamp(clearing)
		lock.owner.settle(clearing, false, false)
		if len(clearing.spared) != 2-i {
			t.Errorf("got %v to be spared, want what was not freed", clearing.spared)
		}
	}
}

// A server may run what the user may not ask its replicas about: then it is done, and nobody knows
// where.
func TestNeverReplicated(t *testing.T) {
	refused := reply("NOPERM User app has no permissions to run the 'wait' command")
	c := &call{}
	c.Err, c.Replicated.Never = refused, refused
	set := keySet{keys: []string{"a"}}
	if err := fault("refresh", set, c); !errors.Is(err, ErrUnknownOutcome) {
		t.Errorf("got error %v, want an ErrUnknownOutcome", err)
	}
	o := &obtaining{want: want{set: set}} // it gives back what it has done
	if err := o.failed(t.Context(), c); errors.Is(err, ErrUnknownOutcome) || !o.left.keys() {
		t.Errorf("got error %v, and %+v left", err, o.left)
	}
}

// At most so many batches wait for replicas: the connections are those of everybody.
func TestReplicasLeaveConnections(t *testing.T) {
	t.Parallel()
	rdb := redistest.Start(t, redistest.Redis).Client(t, func(o *redis.Options) { o.PoolSize = 20 })
	client := New(rdb)
	t.Cleanup(client.Close)
	done, n := make(chan struct{}, 200), 0
	most := uint32(0)
	for n < 200 {
		n++
		go func(key string) {
			_, _ = client.Obtain(t.Context(), []string{key}, time.Minute, &Options{Replicas: 1})
			done <- struct{}{}
		}(t.Name() + string(rune('0'+n)))
		time.Sleep(10 * time.Millisecond)
		stats := rdb.PoolStats()
		most = max(most, stats.TotalConns-stats.IdleConns)
	}
	for range n {
		<-done
	}
	// One is of a clean-up, one is being opened; and for each stall of the machine another batch is let go.
	if most > 10 {
		t.Errorf("%d connections were in use", most)
	}
}
