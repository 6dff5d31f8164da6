package quorum_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/quorum"
)

// The Client of each node that has lost the lock logs that once. That of a node which has it, and releases it, logs nothing.
// What a Close has ended is not logged as a loss.
func TestLossIsLoggedOnce(t *testing.T) {
	type node struct {
		mini   *redistest.Mini
		client *redislock.Client
		log    *check.Log
	}
	lost := []string{"redislock: lock lost"}
	for name, test := range map[string]struct {
		end   func(n node)
		pause time.Duration
		want  []string // of each of the two nodes
	}{
		"renewals find it":          {func(n node) { n.mini.Miniredis().Del("a") }, time.Minute, lost},
		"only the release finds it": {func(n node) { n.mini.Miniredis().Del("a") }, 0, lost},
		"Clients are closed":        {func(n node) { n.client.Close() }, time.Second, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var nodes []node
				var clients []*redislock.Client
				for range 3 {
					n := node{mini: redistest.PipeMini(t), log: new(check.Log)}
					n.client = redislock.New(n.mini.Client(t), redislock.WithLogger(slog.New(n.log)))
					t.Cleanup(n.client.Close)
					nodes, clients = append(nodes, n), append(clients, n.client)
				}
				client := must[*quorum.Client](t)(quorum.New(clients))
				err := client.With(t.Context(), []string{"a"}, 30*time.Second, nil, func(context.Context) error {
					synctest.Wait() // all nodes have it, and not a majority alone
					for _, n := range nodes[:2] {
						test.end(n)
					}
					time.Sleep(test.pause)
					return nil
				})
				wantIs(t, err, redislock.ErrLockLost)
				client.Close()
				synctest.Wait()
				for i, want := range [][]string{test.want, test.want, nil} {
					if diff := cmp.Diff(want, nodes[i].log.At(slog.LevelWarn)); diff != "" {
						t.Errorf("warnings of node %d (-want +got):\n%s", i, diff)
					}
				}
			})
		})
	}
}
