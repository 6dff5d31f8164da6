package cost_test

import (
	"context"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/world"
)

// What the client allocates, that of go-redis included, does not grow. The tests that may run beside others wait until this
// one, which counts what the whole process allocates, is over.
func TestAllocations(t *testing.T) {
	m := newMeter(t)
	plain := world.NewClient(t, m.server.Client(t)) // without the meter's hook
	held := newKeys("set", 8)
	check.Must[*redislock.Lock](t)(plain.Obtain(t.Context(), held[:1], world.Long, &redislock.Options{Metadata: "the holder"}))
	one, eight := newKeys("set", 1), newKeys("set", 8)
	prefixed := world.NewClient(t, m.server.Client(t), redislock.WithKeyPrefix("shop:"))
	fenced, queue := &redislock.Options{Fenced: true}, &redislock.Options{Queue: true}
	again := &redislock.Options{RetryStrategy: redislock.LimitRetry(redislock.LinearBackoff(time.Millisecond), 1)}
	release := func(lock *redislock.Lock, err error) {
		if check.NoError(t, err); lock != nil {
			check.NoError(t, lock.Release(t.Context()))
		}
	}
	for _, work := range []struct {
		name  string
		most  int
		cycle func()
	}{
		{"obtain and release, 1 key", 16, func() { release(plain.Obtain(t.Context(), one, world.Long, nil)) }},
		{"With, 1 key", 28, func() {
			check.NoError(t, plain.With(t.Context(), one, world.Long, nil, func(context.Context) error { return nil }))
		}},
		{"obtain and release, 8 keys", 40, func() { release(plain.Obtain(t.Context(), eight, world.Long, nil)) }},
		{"obtain and release with Queue, 1 key", 16, func() { release(plain.Obtain(t.Context(), one, world.Long, queue)) }},
		{"read and release, 1 key", 25, func() { release(plain.ObtainRead(t.Context(), one, world.Long, nil)) }},
		{"read and release, 8 keys", 55, func() { release(plain.ObtainRead(t.Context(), eight, world.Long, nil)) }},
		{"obtain and release fenced, 1 key", 33, func() { release(plain.Obtain(t.Context(), one, world.Long, fenced)) }},
		{"obtain and release fenced, 8 keys", 62, func() { release(plain.Obtain(t.Context(), eight, world.Long, fenced)) }},
		// A prefix costs one allocation for each key.
		{"obtain and release with a prefix, 1 key", 17, func() { release(prefixed.Obtain(t.Context(), one, world.Long, nil)) }},
		{"obtain and release with a prefix, 8 keys", 48, func() { release(prefixed.Obtain(t.Context(), eight, world.Long, nil)) }},
		{"refused, 1 key", 20, func() {
			_, err := plain.Obtain(t.Context(), held[:1], world.Long, nil)
			check.Is(t, err, redislock.ErrNotObtained)
		}},
		{"refused, 8 keys", 36, func() {
			_, err := plain.Obtain(t.Context(), held, world.Long, nil)
			check.Is(t, err, redislock.ErrNotObtained)
		}},
		{"refused twice, 1 key", 40, func() {
			_, err := plain.Obtain(t.Context(), held[:1], world.Long, again)
			check.Is(t, err, redislock.ErrNotObtained)
		}},
	} {
		got, most := int(testing.AllocsPerRun(200, work.cycle)), work.most+moreOfRace
		t.Logf("%s: %d allocations, at most %d", work.name, got, most)
		if got > most {
			t.Errorf("%s: %d allocations, want at most %d", work.name, got, most)
		}
	}
}
