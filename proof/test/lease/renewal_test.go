package lease_test

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A gate keeps requests of a client that renews a lease: the next one of a kind, before it is executed or
// before it is answered.
type gate struct {
	rdb *redis.Client

	mu       sync.Mutex
	next     *kept // nil: none is to be kept
	renewals int   // that were answered
}

// A kept request waits until it may go on.
type kept struct {
	is       func(check.Run) bool
	executed bool // before it waits
	there    chan struct{}
	goesOn   chan struct{}
	answered chan struct{}
}

func newGate(t *testing.T, mini *redistest.Mini, opts ...redislock.ClientOption) (*gate, *redislock.Client) {
	t.Helper()
	g := &gate{rdb: mini.Client(t)}
	g.rdb.AddHook(check.Around{Send: func(cmds []redis.Cmder, send func([]redis.Cmder) error) error {
		k := g.take(cmds)
		if k == nil {
			defer g.count(cmds)
			return send(cmds)
		}
		if k.executed {
			defer close(k.answered)
			err := send(cmds)
			close(k.there)
			<-k.goesOn
			return err
		}
		close(k.there)
		<-k.goesOn
		defer close(k.answered)
		return send(cmds)
	}})
	return g, redislock.New(g.rdb, opts...)
}

func (g *gate) take(cmds []redis.Cmder) *kept {
	g.mu.Lock()
	defer g.mu.Unlock()
	k := g.next
	if k == nil || !slices.ContainsFunc(cmds, func(cmd redis.Cmder) bool { return k.is(check.RunIn(cmd)) }) {
		return nil
	}
	g.next = nil
	return k
}

func (g *gate) count(cmds []redis.Cmder) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, cmd := range cmds {
		if check.RunIn(cmd).NeverShortens() {
			g.renewals++
		}
	}
}

// keep has the next request of a kind wait.
func (g *gate) keep(is func(check.Run) bool, executed bool) *kept {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.next = &kept{is, executed, make(chan struct{}), make(chan struct{}), make(chan struct{})}
	return g.next
}

// lets has the request go on, and returns when its answer was taken in.
func (k *kept) lets() {
	close(k.goesOn)
	<-k.answered
	synctest.Wait()
}

func isRenewal(run check.Run) bool { return run.NeverShortens() }

func isRefresh(run check.Run) bool { return run.Of("refresh") && !run.NeverShortens() }

// A renewal that the server executes before a Refresh that shortens, and that is answered after
// it, must not bring the old deadline back. Nor must one that is answered while the Refresh is under way.
func TestRenewalAroundRefresh(t *testing.T) {
	wantWithin := func(t *testing.T, lock *redislock.Lock, most time.Duration, when string) {
		t.Helper()
		if left := time.Until(lock.Deadline()); left > most {
			t.Errorf("got deadline in %v %s, want at most %v", left, when, most)
		}
	}
	t.Run("answered after it", func(t *testing.T) {
		world.Bubble(t, func(t *testing.T, _ *world.World, mini *redistest.Mini, _ *world.Journal) {
			g, client := newGate(t, mini)
			defer client.Close()
			lock, err := client.Obtain(t.Context(), []string{"a"}, time.Minute, &redislock.Options{Watchdog: true})
			check.NoError(t, err)
			renewal := g.keep(isRenewal, true)
			<-renewal.there
			check.NoError(t, lock.Refresh(t.Context(), time.Second))
			renewal.lets()
			wantWithin(t, lock, time.Second, "after a Refresh of 1s")
		})
	})
	t.Run("answered while it is under way", func(t *testing.T) {
		world.Bubble(t, func(t *testing.T, _ *world.World, mini *redistest.Mini, _ *world.Journal) {
			g, client := newGate(t, mini)
			defer client.Close()
			lock, err := client.Obtain(t.Context(), []string{"a"}, time.Minute, &redislock.Options{Watchdog: true})
			check.NoError(t, err)
			time.Sleep(19800 * time.Millisecond) // 200 ms before the first renewal
			refresh := g.keep(isRefresh, true)
			done := make(chan error, 1)
			go func() { done <- lock.Refresh(t.Context(), time.Second) }()
			<-refresh.there
			time.Sleep(400 * time.Millisecond)
			g.mu.Lock()
			renewals := g.renewals
			g.mu.Unlock()
			if renewals == 0 {
				t.Error("nothing was renewed while the Refresh was under way")
			}
			wantWithin(t, lock, time.Second, "while a Refresh of 1s is under way")
			refresh.lets()
			check.NoError(t, <-done)
			wantWithin(t, lock, time.Second, "after a Refresh of 1s")
		})
	})
}

// A renewal that was under way when keys were freed says that they are lost, and nothing else.
func TestRenewalAroundReleaseKeys(t *testing.T) {
	world.Bubble(t, func(t *testing.T, _ *world.World, mini *redistest.Mini, _ *world.Journal) {
		g, client := newGate(t, mini)
		defer client.Close()
		lock, err := client.Obtain(t.Context(), []string{"a", "b", "c"}, time.Minute, &redislock.Options{Watchdog: true})
		check.NoError(t, err)
		isLost := func() bool {
			select {
			case <-lock.Lost():
				return true
			default:
				return false
			}
		}
		late := g.keep(isRenewal, false)
		<-late.there
		check.NoError(t, lock.ReleaseKeys(t.Context(), []string{"a"}))
		before := lock.Deadline()
		late.lets()
		if isLost() {
			t.Fatal("a renewal that finds a key freed says that the lock is lost")
		}
		time.Sleep(time.Millisecond)
		if !lock.Deadline().After(before) {
			t.Fatal("the next renewal, of what is left, did not follow at once")
		}
		late = g.keep(isRenewal, false)
		<-late.there
		check.NoError(t, g.rdb.Del(t.Context(), "b").Err())
		check.NoError(t, lock.ReleaseKeys(t.Context(), []string{"c"}))
		late.lets()
		if !isLost() {
			t.Error("the loss of a key that was not freed was not reported")
		}
	})
}

// What asks about the whole set while keys of it are freed asks once more, about those that are left.
func TestOperationsAroundReleaseKeys(t *testing.T) {
	world.Bubble(t, func(t *testing.T, _ *world.World, mini *redistest.Mini, _ *world.Journal) {
		g, client := newGate(t, mini)
		defer client.Close()
		ctx := t.Context()
		lock := check.Must[*redislock.Lock](t)(client.Obtain(ctx, []string{"a", "b", "c", "d"}, time.Minute, nil))
		around := func(script, freed string, operation func() error) {
			t.Helper()
			late, done := g.keep(func(run check.Run) bool { return run.Of(script) }, false), make(chan error, 1)
			go func() { done <- operation() }()
			<-late.there
			check.NoError(t, lock.ReleaseKeys(ctx, []string{freed}))
			late.lets()
			if err := <-done; err != nil {
				t.Errorf("%s: %v", script, err)
			}
		}
		around("refresh", "a", func() error { return lock.Refresh(ctx, time.Hour) })
		for _, key := range lock.Keys() {
			if ttl := check.Must[time.Duration](t)(g.rdb.PTTL(ctx, key).Result()); ttl != time.Hour {
				t.Errorf("the lease of %s was to be an hour, and is %s", key, ttl)
			}
		}
		around("pttl", "b", func() error {
			ttl, err := lock.TTL(ctx)
			if ttl != time.Hour {
				t.Errorf("the lease was to be an hour, and is %s", ttl)
			}
			return err
		})
		check.NoError(t, lock.Release(ctx))
	})
}
