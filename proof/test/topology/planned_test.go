package topology_test

import (
	"testing"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/world"
)

// After SENTINEL FAILOVER the former primary takes requests for some seconds more, from whoever has not heard of it. What it
// grants meanwhile is lost, unless all replicas are waited for; but the next holder has a greater number.
func TestPlannedFailover(t *testing.T) {
	t.Parallel()
	for range 5 { // a machine that is very busy may come to it only when the former primary has been told
		r := newSentinelReplicas(t, 2)
		direct := r.direct()
		late, safe := world.NewClient(t, direct), world.NewClient(t, direct, redislock.WithReplicas(2))
		fenced := &redislock.Options{Fenced: true}
		check.NoError(t, check.Must[*redislock.Lock](t)(late.Obtain(t.Context(), []string{r.tag}, world.Long, fenced)).Release(t.Context()))
		successor := r.failOver()
		lost, err := late.Obtain(t.Context(), []string{r.tag}, world.Long, fenced)
		_, safeErr := safe.Obtain(t.Context(), []string{r.tag + "safe"}, world.Long, nil)
		role := check.Must[[]any](t)(r.former.Client(t).Do(t.Context(), "role").Slice())
		if role[0] == "slave" {
			t.Logf("the former primary is a replica already: %v, %v", err, safeErr)
			continue
		}
		check.NoError(t, err)
		check.Is(t, safeErr, redislock.ErrNotReplicated)
		next := check.Must[*redislock.Lock](t)(world.NewClient(t, successor.Client(t)).Obtain(t.Context(), []string{r.tag}, world.Long, fenced))
		if next.Fence() <= lost.Fence() {
			t.Errorf("got number %d after %d", next.Fence(), lost.Fence())
		}
		check.NoError(t, next.Release(t.Context()))
		return
	}
	t.Error("the former primary was told at once each time")
}
