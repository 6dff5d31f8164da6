package lease_test

import (
	"context"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/world"
)

// usesOfSome are uses that meet something, or that release in the end.
var usesOfSome = map[string]use{
	"released": {nil, func(t *testing.T, _ *recorder, lock *redislock.Lock) {
		t.Helper()
		check.NoError(t, lock.Release(t.Context()))
		check.Is(t, lock.Release(t.Context()), redislock.ErrLockNotHeld)
	}, `
obtain [a b c] ttl 1m0s
release [a b c], looks false, left 0s
`},
	"released, fenced": {world.Fenced(), func(t *testing.T, _ *recorder, lock *redislock.Lock) {
		t.Helper()
		check.NoError(t, lock.Release(t.Context()))
	}, `
rw [a b c] ttl 1m0s, fenced
release [a b c], fenced, looks false, left 0s
`},
	"released, read": {nil, func(t *testing.T, _ *recorder, lock *redislock.Lock) {
		t.Helper()
		check.NoError(t, lock.Downgrade(t.Context()))
		check.NoError(t, lock.Release(t.Context()))
	}, `
obtain [a b c] ttl 1m0s
convert [a b c] writes 0 ttl 1m0s
release [a b c], looks false, left 0s
`},
	"released, callers know the token": {nil, func(t *testing.T, _ *recorder, lock *redislock.Lock) {
		t.Helper()
		_ = lock.Token()
		check.NoError(t, lock.Release(t.Context()))
	}, `
obtain [a b c] ttl 1m0s
release [a b c], searches, looks true, left 0s
`},
	"released after a Refresh that may have been executed": {nil, func(t *testing.T, s *recorder, lock *redislock.Lock) {
		t.Helper()
		s.says(unblocked)
		check.Is(t, lock.Refresh(t.Context(), 30*time.Second), redislock.ErrUnknownOutcome)
		check.NoError(t, lock.Release(t.Context()))
	}, `
obtain [a b c] ttl 1m0s
refresh [a b c] ttl 30s
release [a b c], closes, stamp 1 closes 1 at redislock:line:{a}, looks false, left 0s
`},
	"renewed after a Refresh that may have been executed": {world.Watched, func(t *testing.T, s *recorder, lock *redislock.Lock) {
		t.Helper()
		s.says(unblocked)
		check.Is(t, lock.Refresh(t.Context(), 30*time.Second), redislock.ErrUnknownOutcome)
		time.Sleep(15 * time.Second)
		check.NoError(t, lock.Release(t.Context()))
	}, `
obtain [a b c] ttl 1m0s
refresh [a b c] ttl 30s
refresh [a b c] ttl 1m0s, closes, keeps leases, never shortens, stamp 1 closes 1 at redislock:line:{a}
release [a b c], stamp 1, looks false, left 0s
`},
	"overtaken": {nil, func(t *testing.T, s *recorder, lock *redislock.Lock) {
		t.Helper()
		for _, do := range []func(ctx context.Context) error{
			func(ctx context.Context) error { return lock.Refresh(ctx, 30*time.Second) }, lock.Downgrade, lock.Upgrade, lock.Release,
		} {
			s.says(overtaken)
			check.NoError(t, do(t.Context()))
		}
	}, `
obtain [a b c] ttl 1m0s
refresh [a b c] ttl 30s
refresh [a b c] ttl 30s, keeps leases, never shortens
convert [a b c] writes 0 ttl 30s
convert [a b c] writes 0 ttl 30s, keeps leases
convert [a b c] ttl 30s
convert [a b c] ttl 30s, keeps leases
release [a b c], looks false, left 0s
release [a b c], looks false, left 0s
`},
	"renewed": {world.Watched, func(t *testing.T, s *recorder, lock *redislock.Lock) {
		t.Helper()
		time.Sleep(30 * time.Second)
		_ = lock.Token()
		s.says(unblocked)
		time.Sleep(20 * time.Second)
		check.NoError(t, lock.Release(t.Context()))
	}, `
obtain [a b c] ttl 1m0s
refresh [a b c] ttl 1m0s, keeps leases, never shortens
refresh [a b c] ttl 1m0s, keeps leases, never shortens, searches
refresh [a b c] ttl 1m0s, keeps leases, never shortens, searches
release [a b c], searches, looks true, left 0s
`},
	"released in doubt": {nil, func(t *testing.T, s *recorder, lock *redislock.Lock) {
		t.Helper()
		s.says(unblocked)
		check.Is(t, lock.Leave(t.Context(), time.Hour), redislock.ErrUnknownOutcome)
		time.Sleep(time.Minute)
	}, `
obtain [a b c] ttl 1m0s
release [a b c], looks false, left 1h0m0s
release [a b c], closes, stamp 1 closes 1 at redislock:line:{a}, looks false, left 1h0m0s
`},
	"a part released in doubt": {nil, func(t *testing.T, s *recorder, lock *redislock.Lock) {
		t.Helper()
		_ = lock.Token()
		s.says(unblocked)
		check.Is(t, lock.ReleaseKeys(t.Context(), []string{"a", "b"}), redislock.ErrUnknownOutcome)
		time.Sleep(time.Minute)
		check.NoError(t, lock.Release(t.Context()))
	}, `
obtain [a b c] ttl 1m0s
release [a b], searches, looks true, left 0s
release [a b], closes, stamp 1 closes 1 at redislock:line:{a}, looks false, left 0s
release [c], searches, stamp 1, looks true, left 0s
`},
}
