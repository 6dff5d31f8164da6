package fence_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/fencing"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A walk has many take overlapping sets at random, and enter their numbers while they hold them.
type walk struct {
	w       *world.World
	forgets bool // the stored numbers are deleted now and then

	mu    sync.Mutex
	given ledger // by key: the greatest number
	wrote ledger // the same, of writers
	taken map[string]map[int64]bool
	held  int
}

// before returns the numbers that were given for keys.
func (k *walk) before(keys []string) ledger {
	k.mu.Lock()
	defer k.mu.Unlock()
	before := make(ledger)
	for _, key := range keys {
		before[key] = k.given[key]
	}
	return before
}

// enter checks a number just given, and says what is wrong with it. It has to be greater than those
// that were known when it was asked for; one of a writer, than all of those who held a key before;
// one of a reader, than all of those who wrote one before.
func (k *walk) enter(lock *redislock.Lock, write, read []string, before ledger) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	number := lock.Fence()
	k.held++
	check := func(key string, last int64) error {
		switch {
		case number <= before[key]:
			return fmt.Errorf("got number %d for %q, %d was given before it was asked for", number, key, before[key])
		case number <= last:
			return fmt.Errorf("got number %d for %q, after %d", number, key, last)
		case k.taken[key][number]:
			return fmt.Errorf("got number %d for %q twice", number, key)
		case k.taken[key] == nil:
			k.taken[key] = make(map[int64]bool)
		}
		k.taken[key][number] = true
		k.given[key] = max(k.given[key], number)
		return nil
	}
	for _, key := range write {
		if err := check(key, k.given[key]); err != nil {
			return err
		}
		k.wrote[key] = number
	}
	for _, key := range read {
		if err := check(key, k.wrote[key]); err != nil {
			return err
		}
	}
	return nil
}

// step is one hold.
func (k *walk) step(ctx context.Context) error {
	var write, read []string
	for _, i := range rand.Perm(5)[:1+rand.IntN(3)] {
		if key := k.w.Key(fmt.Sprint(i)); rand.IntN(2) == 0 {
			write = append(write, key)
		} else {
			read = append(read, key)
		}
	}
	keys := append(append([]string(nil), write...), read...)
	if k.forgets && rand.IntN(4) == 0 {
		if err := k.w.RDB.Del(ctx, "redislock:fence:{"+keys[0]+"}").Err(); err != nil {
			return err
		}
	}
	before := k.before(keys)
	opt := &redislock.Options{
		Fenced: true, Queue: rand.IntN(3) > 0, RetryStrategy: redislock.LinearBackoff(10 * time.Millisecond),
	}
	lock, err := k.w.Client.ObtainSet(ctx, redislock.Set{Write: write, Read: read}, world.Long, opt)
	if err != nil {
		return err
	}
	if err := k.enter(lock, write, read, before); err != nil {
		return err
	}
	if err := k.changes(ctx, lock, write, read); err != nil {
		return err
	}
	return lock.Release(ctx)
}

// changes does something with a lock that may change its number, or may not.
func (k *walk) changes(ctx context.Context, lock *redislock.Lock, write, read []string) error {
	number := lock.Fence()
	keeps := true
	switch rand.IntN(4) {
	case 0:
		again, err := k.w.Client.As(lock.Token()).ObtainSet(ctx, redislock.Set{Write: write, Read: read}, world.Long, world.Fenced())
		if err != nil {
			return err
		}
		lock = again
	case 1:
		if err := lock.Downgrade(ctx); err != nil {
			return err
		}
	case 2:
		keys := lock.Keys()
		before := k.before(keys)
		switch err := lock.Upgrade(ctx); {
		case errors.Is(err, redislock.ErrNotObtained):
		case err != nil:
			return err
		case len(read) > 0:
			keeps = false
			if err := k.enter(lock, keys, nil, before); err != nil {
				return fmt.Errorf("upgrade: %w", err)
			}
		}
	}
	if got := lock.Fence(); keeps && got != number && !k.forgets {
		return fmt.Errorf("got number %d instead of %d for a hold that went on", got, number)
	}
	return nil
}

func TestFenceWalk(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		for _, forgets := range []bool{false, true} {
			k := &walk{w: w, forgets: forgets, given: make(ledger), wrote: make(ledger), taken: make(map[string]map[int64]bool)}
			ctx, cancel := context.WithCancelCause(t.Context())
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					for range 20 {
						if err := k.step(ctx); err != nil {
							cancel(err)
							return
						}
					}
				})
			}
			wg.Wait()
			check.NoError(t, context.Cause(ctx))
			cancel(nil)
			if !forgets {
				k.given.shown(t, w)
			}
		}
	})
}

// A holder was paused until its lease was over: its late write is refused, wherever it goes.
func TestFencedResource(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		var guard fencing.Guard
		var stock string
		write := func(lock *redislock.Lock, value string) error {
			return errors.Join(
				guard.Do(t.Context(), "stock", lock.Fence(), func() error { stock = value; return nil }),
				fencing.Set(t.Context(), w.RDB, w.Key("stock"), lock.Fence(), value, world.Long))
		}
		opt := world.Fenced()
		opt.Queue = true
		paused := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a", "b"), time.Second, opt))
		check.NoError(t, write(paused, "first"))
		next := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("b"), world.Long, opt)) // waits for the end of the lease
		check.NoError(t, write(next, "second"))
		err := write(paused, "late")
		check.Is(t, err, fencing.ErrStale)
		if n := strings.Count(err.Error(), fencing.ErrStale.Error()); n != 2 {
			t.Errorf("got %v, want two refusals", err)
		}
		check.NoError(t, write(next, "third"))
		value, number, err := fencing.Get(t.Context(), w.RDB, w.Key("stock"))
		check.NoError(t, err)
		if stock != "third" || value != "third" || number != next.Fence() {
			t.Errorf("got %q in the process and %q under number %d, want the last of number %d", stock, value, number, next.Fence())
		}
		check.Is(t, paused.Release(t.Context()), redislock.ErrLockNotHeld)
		check.NoError(t, next.Release(t.Context()))
	})
}
