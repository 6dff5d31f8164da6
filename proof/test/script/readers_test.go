package script_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/slot"
	"github.com/seed-14de3678/redislock/internal/world"
)

// mostValues is how many values a script may look at, whoever reads its key.
const mostValues = 256

// readBy has so many others read a key, in the place of whoever held it, whose leases end at that time.
func (c *counted) readBy(t *testing.T, key string, n int, till time.Time) {
	t.Helper()
	pipe := c.admin.Pipeline()
	pipe.Del(t.Context(), key)
	for first := 0; first < n; first += 1000 {
		var members []redis.Z
		for i := first; i < min(first+1000, n); i++ {
			members = append(members, redis.Z{Score: float64(till.UnixMilli()), Member: fmt.Sprint("reader ", i)})
		}
		pipe.ZAdd(t.Context(), key, members...)
	}
	pipe.PExpire(t.Context(), key, longLease)
	check.Must[[]redis.Cmder](t)(pipe.Exec(t.Context()))
}

// lost has a writer lose its key to readers.
func (c *counted) lost(t *testing.T, key string, readers int) *redislock.Lock {
	t.Helper()
	opt := &redislock.Options{Fenced: true, Metadata: "the writer"}
	lock := check.Must[*redislock.Lock](t)(c.client.Obtain(t.Context(), []string{key}, longLease, opt))
	c.readBy(t, key, readers, time.Now().Add(longLease))
	return lock
}

// What a writer asks for that does not hold its key, because it waits or has lost it, looks at a few of the readers.
func TestWriterLooksAtFewReaders(t *testing.T) {
	t.Parallel()
	c := newCounted(t)
	gone := func(obtain world.ObtainFunc, opt redislock.Options) func(t *testing.T, key string, readers int) func() error {
		return func(t *testing.T, key string, readers int) func() error {
			t.Helper()
			c.readBy(t, key, readers, time.Now().Add(longLease))
			return func() error {
				opt.Queue, opt.Wait, opt.Metadata = true, 50*time.Millisecond, "the writer"
				_, err := obtain(t.Context(), []string{key}, longLease, &opt)
				if !errors.Is(err, redislock.ErrUnknownOutcome) { // as it is if a slow machine has not answered by then
					check.Is(t, err, redislock.ErrNotObtained)
				}
				check.Eventually(t, world.Soon, "it has left the line", func() bool {
					return c.admin.ZCard(t.Context(), slot.Beside("line", key)).Val() == 0
				})
				return redislock.ErrLockNotHeld
			}
		}
	}
	for name, prepare := range map[string]func(t *testing.T, key string, readers int) func() error{
		"gives up":                     gone(c.client.Obtain, redislock.Options{}),
		"gives up, with a known token": gone(c.client.As("known").Obtain, redislock.Options{}),
		"gives up, fenced":             gone(c.client.Obtain, redislock.Options{Fenced: true}),
		"releases what it has lost": func(t *testing.T, key string, n int) func() error {
			t.Helper()
			l := c.lost(t, key, n)
			return func() error { return l.Release(t.Context()) }
		},
		"refreshes what it has lost": func(t *testing.T, key string, n int) func() error {
			t.Helper()
			l := c.lost(t, key, n)
			return func() error { return l.Refresh(t.Context(), longLease) }
		},
		"downgrades what it has lost": func(t *testing.T, key string, n int) func() error {
			t.Helper()
			l := c.lost(t, key, n)
			return func() error { return l.Downgrade(t.Context()) }
		},
		"raises the number of the lost": func(t *testing.T, key string, n int) func() error {
			t.Helper()
			l := c.lost(t, key, n)
			return func() error { return l.RaiseFence(t.Context(), l.Fence()+1) }
		},
		"asks for the TTL of the lost": func(t *testing.T, key string, n int) func() error {
			t.Helper()
			l := c.lost(t, key, n)
			return func() error { _, err := l.TTL(t.Context()); return err }
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, readers := range []int{10, 40_000} {
				do := prepare(t, fmt.Sprint(t.Name(), readers), readers)
				got := c.values(t, func() { check.Is(t, do(), redislock.ErrLockNotHeld) })
				t.Logf("%d values for %d readers", got, readers)
				if got > mostValues {
					t.Errorf("%d values for %d readers, want at most %d", got, readers, mostValues)
				}
			}
		})
	}
}

// diedFenced leaves the numbers of so many fenced readers that have died, the last of which was given so long ago.
func (c *counted) diedFenced(t *testing.T, key string, n int, ago time.Duration) {
	t.Helper()
	fence := slot.Beside("fence", key)
	pipe := c.admin.Pipeline()
	numbers := []any{"", time.Now().Add(-ago).UnixMicro()}
	for i := range n {
		numbers = append(numbers, fmt.Sprint("reader ", i), 1)
		if len(numbers) > 1000 || i == n-1 {
			pipe.HSet(t.Context(), fence, numbers...)
			numbers = nil
		}
	}
	pipe.Expire(t.Context(), fence, 25*time.Hour)
	check.Must[[]redis.Cmder](t)(pipe.Exec(t.Context()))
}

// The numbers of readers that have died are dropped without looking at them, and at once; and those of the living stay.
func TestNumbersOfDeadReadersAreDropped(t *testing.T) {
	t.Parallel()
	c := newCounted(t)
	opt := &redislock.Options{Fenced: true}
	const dead = 40_000
	for name, scene := range map[string]struct {
		ago     time.Duration
		readers int // alive
		write   bool
	}{
		"a reader takes the free key":         {2 * time.Hour, 0, false},
		"a reader does so within the hour":    {time.Microsecond, 0, false},
		"a writer takes the free key":         {2 * time.Hour, 0, true},
		"a reader comes, and few others read": {2 * time.Hour, 5, false},
	} {
		t.Run(name, func(t *testing.T) {
			keys := []string{t.Name()}
			fence := slot.Beside("fence", keys[0])
			var readers []*redislock.Lock
			for range scene.readers {
				readers = append(readers, check.Must[*redislock.Lock](t)(c.client.ObtainRead(t.Context(), keys, longLease, opt)))
			}
			c.diedFenced(t, keys[0], dead, scene.ago)
			obtain := c.client.ObtainRead
			if scene.write {
				obtain = c.client.Obtain
			}
			var got int
			calls := world.Counted(t, c.admin, func() {
				got = c.values(t, func() { check.Must[*redislock.Lock](t)(obtain(t.Context(), keys, longLease, opt)) })
			})
			if got > mostValues {
				t.Errorf("%d values, want at most %d", got, mostValues)
			}
			if calls["unlink"] != 1 || calls["del"] > 0 {
				t.Errorf("the hash is dropped by %v, want UNLINK", calls)
			}
			if left := check.Must[int64](t)(c.admin.HLen(t.Context(), fence).Result()); left > int64(2+scene.readers) {
				t.Errorf("%d numbers are left of %d", left, dead)
			}
			for _, l := range readers {
				if number := c.admin.HGet(t.Context(), fence, l.Token()).Val(); number != fmt.Sprint(l.Fence()) {
					t.Errorf("the number of one who reads is %q, want %d", number, l.Fence())
				}
			}
			if ttl := check.Must[time.Duration](t)(c.admin.TTL(t.Context(), fence).Result()); ttl < 24*time.Hour {
				t.Errorf("the numbers have a TTL of %v, want a day", ttl)
			}
		})
	}
}

// Of many who read the numbers are looked through once to drop those of the dead, of very many not.
func TestNumbersOfManyReaders(t *testing.T) {
	t.Parallel()
	c := newCounted(t)
	opt := &redislock.Options{Fenced: true}
	const dead = 2000
	for readers, kept := range map[int]int{200: 200, 300: 300 + dead} {
		t.Run(fmt.Sprint(readers), func(t *testing.T) {
			keys := []string{t.Name()}
			var all sync.WaitGroup
			for range readers {
				all.Go(func() {
					_, err := c.client.ObtainRead(t.Context(), keys, longLease, opt)
					check.NoError(t, err)
				})
			}
			all.Wait()
			c.diedFenced(t, keys[0], dead, 2*time.Hour)
			check.Must[*redislock.Lock](t)(c.client.ObtainRead(t.Context(), keys, longLease, opt))
			// With that of the newcomer, and the greatest.
			if left := c.admin.HLen(t.Context(), slot.Beside("fence", keys[0])).Val(); left != int64(kept+2) {
				t.Errorf("%d numbers are left, want %d", left, kept+2)
			}
		})
	}
}

// A reader that leaves drops those beside it whose leases have ended, and looks at a few of them.
func TestLastReaderLeavesTheDead(t *testing.T) {
	t.Parallel()
	c := newCounted(t)
	key := t.Name()
	c.readBy(t, key, 40_000, time.Now().Add(-time.Minute))
	check.NoError(t, c.admin.ZAdd(t.Context(), key, redis.Z{Score: float64(time.Now().Add(longLease).UnixMilli()), Member: "last"}).Err())
	var got int
	calls := world.Counted(t, c.admin, func() {
		got = c.values(t, func() { check.NoError(t, c.client.Attach([]string{key}, "last").Release(t.Context())) })
	})
	if got > mostValues || calls["unlink"] != 1 {
		t.Errorf("%d values, want at most %d, and the key dropped by UNLINK: %v", got, mostValues, calls)
	}
	if left := c.admin.Exists(t.Context(), key).Val(); left != 0 {
		t.Error("the key is left")
	}
}

// A token that reads a key, and waits to read more under other metadata, is no reader any more after its Release, whoever
// has let it go on.
func TestOtherMetadataInLine(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, b redistest.Backend) {
		w := world.New(t, b)
		keys := w.Keys("a", "b")
		ctx, giveUp := context.WithCancel(t.Context())
		defer giveUp()
		token := w.Key("token")
		owner := w.Client.As(token)
		first, second := &redislock.Options{Metadata: "first"}, &redislock.Options{Metadata: "second", Queue: true}
		other := check.Must[*redislock.Lock](t)(w.Client.ObtainRead(t.Context(), keys[:1], world.Long, nil))
		check.Must[*redislock.Lock](t)(owner.ObtainRead(t.Context(), keys[:1], world.Long-time.Minute, first))
		writer := make(chan error, 1)
		go func() {
			_, err := w.Client.Obtain(ctx, keys, world.Long, world.Queue())
			writer <- err
		}()
		w.InLine(t, keys[1], 1)
		locks := make(chan *redislock.Lock, 1)
		go func() {
			lock, err := owner.ObtainRead(t.Context(), keys, world.Long-time.Minute, second)
			if err != nil {
				t.Error(err)
			}
			locks <- lock
		}()
		w.InLine(t, keys[1], 2)
		giveUp()
		check.Is(t, <-writer, context.Canceled)
		lock, ok := check.Receive(locks, time.Minute)
		if !ok || lock == nil {
			t.Fatal("it does not get its keys")
		}
		check.NoError(t, lock.Release(t.Context()))
		for _, member := range w.RDB.ZRange(t.Context(), keys[0], 0, -1).Val() {
			if strings.HasPrefix(member, token) {
				t.Errorf("it reads still, as %q", member)
			}
		}
		check.NoError(t, other.Release(t.Context()))
	})
}
