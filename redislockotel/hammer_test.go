package redislockotel_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// However many obtain, wait, convert, release in parts, break, give up and forget at once: at the end all who waited are
// counted out, and each lock that was obtained has ended once.
func TestHammer(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, b redistest.Backend) {
		if b.Kind() == redistest.Miniredis {
			return // it is too slow for many at once
		}
		m := newMeter(t)
		rdb := b.Client(t)
		prefix := fmt.Sprintf("%s#%d:", t.Name(), time.Now().UnixNano())
		client := redislock.New(rdb, redislock.WithHooks(m.hooks), redislock.WithKeyPrefix(prefix), redislock.WithBreakNotices())
		defer client.Close()
		var all sync.WaitGroup
		var obtained, refused, forgotten atomic.Int64
		began := time.Now()
		until := began.Add(time.Second)
		goesOn := func() bool {
			return time.Now().Before(until) || forgotten.Load() == 0 && time.Now().Before(until.Add(time.Minute))
		}
		for range 16 {
			all.Go(func() {
				for goesOn() {
					hammer(t.Context(), client, slowness(began), &obtained, &refused, &forgotten)
				}
			})
		}
		all.Go(func() {
			for goesOn() {
				_ = m.lines(t)
				_, _ = client.Break(t.Context(), []string{"a"}, "hammer")
				time.Sleep(5 * time.Millisecond)
			}
		})
		all.Wait()
		client.Close()
		time.Sleep(2 * shortest * slowness(began))
		sums := m.sums(t)
		if sums["waiting"] != 0 || sums["held"] != 0 {
			t.Errorf("got %d who wait and %d held, want none", sums["waiting"], sums["held"])
		}
		m.wantGone(t)
		if sums["obtained"] != obtained.Load() || sums["refused"] != refused.Load() {
			t.Errorf("got %d obtained and %d refused, want %d and %d", sums["obtained"], sums["refused"], obtained.Load(), refused.Load())
		}
		if got := sums["released"] + sums["lost"] + sums["expired"]; got != obtained.Load() {
			t.Errorf("got %d released, %d lost and %d expired, want %d together", sums["released"], sums["lost"], sums["expired"], obtained.Load())
		}
		if sums["expired"] < forgotten.Load() || forgotten.Load() == 0 || sums["waited"] == 0 {
			t.Errorf("got %d expired of %d forgotten, %d waited", sums["expired"], forgotten.Load(), sums["waited"])
		}
	})
}

// shortest is the ttl of locks that are forgotten.
const shortest = 50 * time.Millisecond

// slowness is how many seconds have passed, at least 1: it goes on for longer than one if the machine is so slow that no lock is
// obtained within its ttl, and the times of the locks become so many times as long.
func slowness(began time.Time) time.Duration {
	return max(1, time.Since(began)/time.Second)
}

// hammer obtains once, and does something with the lock.
func hammer(ctx context.Context, client *redislock.Client, slowness time.Duration, obtained, refused, forgotten *atomic.Int64) {
	keys, dice := []string{"a", "b"}[rand.IntN(2):], rand.IntN(8)
	opt := &redislock.Options{Name: "n", Watchdog: dice != 0, Queue: rand.IntN(2) == 0}
	if !opt.Queue {
		opt.RetryStrategy = redislock.LimitRetry(redislock.LinearBackoff(5*time.Millisecond), rand.IntN(5))
	}
	ttl := time.Minute
	if dice == 0 {
		ttl = shortest * slowness
	}
	bounded, cancel := context.WithTimeout(ctx, time.Duration(1+rand.IntN(100))*time.Millisecond*slowness)
	defer cancel()
	lock, err := client.ObtainSet(bounded, redislock.Set{Write: keys[:1], Read: keys[1:]}, ttl, opt)
	if err != nil {
		refused.Add(1)
		return
	}
	obtained.Add(1)
	switch dice {
	case 0:
		forgotten.Add(1)
		return
	case 1:
		_ = lock.Downgrade(ctx)
	case 2:
		_ = lock.ReleaseKeys(ctx, keys[:1])
	case 3:
		var both sync.WaitGroup
		both.Go(func() { _ = lock.Release(lock.Context(ctx)) })
		both.Go(func() { _ = lock.Refresh(ctx, time.Minute) })
		both.Wait()
	}
	_ = lock.Release(ctx)
	if dice == 4 {
		_ = lock.Release(ctx)
	}
}

// sums are the values of each metric, of all attributes together; "waited" is the count of the histogram.
func (m *meter) sums(t *testing.T) map[string]int64 {
	t.Helper()
	sums := map[string]int64{}
	for _, line := range m.lines(t) {
		name, rest, _ := strings.Cut(line, "{")
		_, value, _ := strings.Cut(rest, "} ")
		var n int64
		_, _ = fmt.Sscan(value, &n)
		sums[strings.Replace(name, "wait.duration", "waited", 1)] += n
	}
	return sums
}
