package lease_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/world"
)

// What is cleared up under a token that callers know leaves the keys of a lock of that token alone, for as long as the lock has them: until it
// is released, lost, or over.
func TestClearedUpBesideALock(t *testing.T) {
	t.Parallel()
	const obtain, release = "obtain [a b c] ttl 1h0m0s", "release [a b c], searches, looks true, left 0s"
	const asked, again = "release [a b c], searches, stamp 0, looks true, left 0s",
		"release [a b c], closes, stamp 1 closes 1 at redislock:line:{a}, looks false, left 0s"
	const spares = ", spares [0 1 2]"
	for name, c := range map[string]struct {
		do   func(ctx context.Context, t *testing.T, s *recorder, lock *redislock.Lock)
		want []string // that follows the Obtain, and comes before the lease is over
	}{
		"held": {func(context.Context, *testing.T, *recorder, *redislock.Lock) {}, []string{release, again + spares, "release [a b c], stamp 1, looks false, left 0s" + spares}},
		"lost": {func(ctx context.Context, t *testing.T, s *recorder, lock *redislock.Lock) {
			t.Helper()
			s.says("*2\r\n:-1\r\n:1\r\n")
			check.Is(t, lock.Refresh(ctx, time.Hour), redislock.ErrLockNotHeld)
		}, []string{"refresh [a b c] ttl 1h0m0s, searches", asked, again}},
		"over": {func(context.Context, *testing.T, *recorder, *redislock.Lock) {
			time.Sleep(2 * time.Hour)
		}, []string{release, again}},
		"released": {func(ctx context.Context, t *testing.T, _ *recorder, lock *redislock.Lock) {
			t.Helper()
			check.NoError(t, lock.Release(ctx))
		}, []string{release, asked, again}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newRecorder()
				client := world.NewClient(t, s.Client(t))
				lock := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{"a", "b", "c"}, time.Hour, nil))
				token := lock.Token()
				c.do(t.Context(), t, s, lock)
				s.says(unblocked)
				check.Is(t, client.Attach([]string{"a", "b", "c"}, token).Release(t.Context()), redislock.ErrUnknownOutcome)
				time.Sleep(100 * time.Millisecond) // the first clean-up
				s.mu.Lock()
				defer s.mu.Unlock()
				if diff := cmp.Diff(obtain+"\n"+strings.Join(c.want, "\n"), strings.Join(s.lines, "\n")); diff != "" {
					t.Errorf("sent (-want +got):\n%s", diff)
				}
			})
		})
	}
}
