package contract

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/serial"
)

// hammer has many callers take overlapping sets of keys on real servers: no writer is ever inside with anybody else.
func hammer(t *testing.T, m Maker) {
	t.Helper()
	const workers, rounds, keys = 6, 8, 3
	first := true
	rig := m.New(t, func() redistest.Backend {
		if first {
			first = false
			return redistest.Shared(t, redistest.Redis)
		}
		return redistest.Start(t, redistest.Redis)
	}, redislock.Hooks{})
	base := fmt.Sprintf("%s:%d:", t.Name(), serial.Next()) // the shared server keeps what a run leaves
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var inside [keys]atomic.Int32 // writers count 1000, readers 1
	var all sync.WaitGroup
	for worker := range workers {
		all.Go(func() {
			opt := &redislock.Options{RetryStrategy: redislock.ExponentialBackoff(time.Millisecond, 20*time.Millisecond)}
			if worker%2 == 0 && !m.NoQueue.holds() {
				opt = &redislock.Options{Queue: true, Watchdog: true}
			}
			for round := range rounds {
				writes, reads := (worker+round)%keys, (worker+round+1)%keys
				name := func(key int) []string { return []string{fmt.Sprint(base, string(rune('a'+key)))} }
				lock, err := rig.Locks.ObtainSet(ctx, redislock.Set{Write: name(writes), Read: name(reads)}, 10*time.Minute, opt)
				if err != nil {
					t.Errorf("worker %d: %v", worker, err)
					return
				}
				if w, r := inside[writes].Add(1000), inside[reads].Add(1); w != 1000 || r >= 1000 {
					t.Errorf("a writer is not alone: %d and %d are inside", w, r)
				}
				time.Sleep(time.Millisecond) // or nobody would meet anybody
				inside[writes].Add(-1000)
				inside[reads].Add(-1)
				if err := lock.Release(ctx); err != nil {
					t.Errorf("worker %d: %v", worker, err)
				}
			}
		})
	}
	all.Wait()
	for _, server := range rig.Servers {
		for key := range keys {
			check.Eventually(t, time.Minute, "the keys are free", func() bool {
				return server.Exists(t.Context(), fmt.Sprint(base, string(rune('a'+key)))).Val() == 0
			})
		}
	}
}
