package world

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
)

// An ObtainFunc is Obtain or ObtainRead of some Client.
type ObtainFunc = func(context.Context, []string, time.Duration, *redislock.Options) (*redislock.Lock, error)

// Cycles has 16 goroutines run so many cycles each at the same time. prefix names the keys of each cycle.
func Cycles(t *testing.T, client *redislock.Client, each int, prefix func(goroutine, cycle int) string) {
	t.Helper()
	var wg sync.WaitGroup
	for g := range 16 {
		wg.Go(func() {
			for i := range each {
				if err := Cycle(t.Context(), client, prefix(g, i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// Cycle runs every script once, on keys with the prefix.
func Cycle(ctx context.Context, client *redislock.Client, prefix string) error {
	lock, err := client.Obtain(ctx, []string{prefix + "{t}a", prefix + "{t}b"}, Long, nil)
	if err != nil {
		return err
	}
	_, ttlErr := lock.TTL(ctx)
	err = errors.Join(ttlErr, lock.Refresh(ctx, Long), lock.Downgrade(ctx))
	states, inspectErr := client.Inspect(ctx, []string{prefix + "{t}a", prefix + "{t}b"})
	if inspectErr == nil && (states[0].Mode != redislock.ModeRead || states[1].Mode != redislock.ModeRead) {
		inspectErr = fmt.Errorf("inspect: got %+v, want two keys that are read", states)
	}
	err = errors.Join(err, inspectErr, lock.Upgrade(ctx), lock.Release(ctx))
	mixed, mixedErr := client.ObtainSet(ctx, redislock.Set{Write: []string{prefix + "{t}a"}, Read: []string{prefix + "{t}b"}}, Long, nil)
	if mixedErr != nil {
		return errors.Join(err, mixedErr)
	}
	return errors.Join(err, mixed.Release(ctx))
}
