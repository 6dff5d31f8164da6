package script_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/slot"
)

// A plain is one caller's part of a batch: what it takes, or releases if ttl is 0.
func wantReplies(t *testing.T, got []any, want ...any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("replies of the batch (-want +got):\n%s", diff)
	}
}

// All keys of all sets that are obtained together have the ttl that was asked for.
func TestBatchGivesEveryKeyItsTTL(t *testing.T) {
	t.Parallel()
	withFixture(t, func(t *testing.T, s *fixture) {
		one := []string{s.key("one")}
		three := []string{s.key("a"), s.key("b"), s.key("c")}
		two := []string{s.key("d"), s.key("e")}
		wantReplies(t, s.runBatch(t, plain{one, "t1", longLease}, plain{three, "t2", longLease}, plain{two, "t3", 2 * longLease}),
			int64(1), int64(1), int64(1))
		for _, key := range slices.Concat(one, three, two) {
			ttl := longLease
			if slices.Contains(two, key) {
				ttl *= 2
			}
			if left := s.rdb.PTTL(t.Context(), key).Val(); left > ttl || left < ttl/2+ttl/4 {
				t.Errorf("key %q has a ttl of %v, want %v", key, left, ttl)
			}
		}
	})
}

// A batch takes no key for which somebody waits, and releases none: handing over is left to the script
// that can.
func TestBatchLeavesLinesAlone(t *testing.T) {
	t.Parallel()
	withFixture(t, func(t *testing.T, s *fixture) {
		for _, n := range []int{1, 3} {
			free, held := make([]string, n), make([]string, n)
			for i := range n {
				free[i], held[i] = s.key(string(rune('a'+i))), s.key(string(rune('A'+i)))
				check.NoError(t, s.rdb.Set(t.Context(), held[i], "mine", longLease).Err())
			}
			s.enters(t,
				fakeWaiter{id: "w", write: free[n-1:], place: 1, ttl: longLease},
				fakeWaiter{id: "w", write: held[n-1:], place: 1, ttl: longLease})
			aside := []string{s.key("aside"), s.key("beside")}[:1+n/2]
			wantReplies(t, s.runBatch(t, plain{free, "new", longLease}, plain{aside, "new", longLease}, plain{held, "mine", 0}),
				int64(0), int64(1), int64(0))
			wantReplies(t, s.runBatch(t, plain{aside, "new", 0}), int64(1))
			if n := s.rdb.Exists(t.Context(), free...).Val(); n != 0 {
				t.Errorf("%d keys were taken past those who wait", n)
			}
			if got := s.rdb.Exists(t.Context(), held...).Val(); got != int64(n) {
				t.Errorf("%d of %d keys are held, want all: they are to be handed over", got, n)
			}
			s.wantMessages(t)
			check.NoError(t, s.rdb.Del(t.Context(), slot.Beside("line", free[n-1]), slot.Beside("line", held[n-1])).Err())
		}
	})
}
