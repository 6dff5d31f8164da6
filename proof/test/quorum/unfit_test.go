package quorum_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/quorum"
)

// Nodes that can do nothing are refused, and a Client without nodes says so.
func TestClientWithoutNodes(t *testing.T) {
	t.Parallel()
	good := redislock.New(redistest.StartMini(t).Client(t))
	t.Cleanup(good.Close)
	for want, node := range map[string]*redislock.Client{
		"nodes[1] is nil":                              nil,
		"nodes[1]: the Client was not made by New":     new(redislock.Client),
		"nodes[1]: New was given no Redis client: nil": redislock.New(nil),
		"nodes[1]: invalid WithReplicas: -1 is less than 0": redislock.New(
			redistest.StartMini(t).Client(t), redislock.WithReplicas(-1)),
		"nodes[1] has WithMinUptime(1h0m0s) and nodes[0] 0s: all need the same": redislock.New(
			redistest.StartMini(t).Client(t), redislock.WithMinUptime(time.Hour)),
	} {
		_, err := quorum.New([]*redislock.Client{good, node})
		if err == nil || err.Error() != "quorum: "+want {
			t.Errorf("got error %v, want %s", err, want)
		}
	}
	for want, client := range map[string]*quorum.Client{"is nil": nil, "was not made by New": new(quorum.Client)} {
		ctx, keys := t.Context(), []string{"k"}
		_, err := client.Obtain(ctx, keys, long, nil)
		_, readErr := client.ObtainRead(ctx, keys, long, nil)
		_, mixedErr := client.ObtainSet(ctx, redislock.Set{Write: keys}, long, nil)
		withErr := client.With(ctx, keys, long, nil, func(context.Context) error { return nil })
		for _, err := range []error{err, readErr, mixedErr, withErr} {
			if err == nil || !strings.Contains(err.Error(), "the Client "+want) {
				t.Errorf("got error %v, want one that says that the Client %s", err, want)
			}
		}
		client.Close()
	}
}
