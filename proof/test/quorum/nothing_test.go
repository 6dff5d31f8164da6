package quorum_test

import (
	"testing"

	"github.com/seed-14de3678/redislock/quorum"
)

// A handle that a Client of nothing has attached says so, whatever is asked of it.
func TestAttachedByNobody(t *testing.T) {
	t.Parallel()
	var nobody *quorum.Client
	for name, client := range map[string]*quorum.Client{"nil": nobody, "zero": new(quorum.Client)} {
		lock, ctx := client.Attach([]string{"k"}, "token"), t.Context()
		_, err := lock.TTL(ctx)
		for what, err := range map[string]error{
			"refresh": lock.Refresh(ctx, long), "release": lock.Release(ctx), "leave": lock.Leave(ctx, long), "ttl": err, "context": lock.Context(ctx).Err(),
		} {
			if err == nil {
				t.Errorf("%s: %s: got no error", name, what)
			}
		}
	}
}
