package quorum_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// Nodes with a prefix hold the whole names, and callers and errors have them without it.
func TestNodesWithAPrefix(t *testing.T) {
	t.Parallel()
	w := &world{}
	for range 3 {
		server := redistest.StartMini(t)
		w.rdbs = append(w.rdbs, server.Client(t, impatient))
		node := redislock.New(server.Client(t, impatient), redislock.WithKeyPrefix("shop:"))
		closeAtEnd(t, node.Close)
		w.nodes = append(w.nodes, node)
	}
	w.client = w.newClient(t)
	ctx, keys := t.Context(), []string{"a", "b"}
	lock, err := w.client.Obtain(ctx, keys, long, &redislock.Options{Metadata: "other"})
	check.NoError(t, err)
	if diff := cmp.Diff(keys, lock.Keys()); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	w.wantHolders(t, "shop:b", 3)
	_, err = w.client.Obtain(ctx, []string{"free", "b"}, long, nil)
	check.Is(t, err, redislock.ErrNotObtained)
	if text := fmt.Sprint(err); strings.Contains(text, "shop:") || !strings.Contains(text, `"b" is write-locked by other`) {
		t.Errorf("got error %q, want it to name \"b\" without the prefix", text)
	}
	check.NoError(t, lock.Refresh(ctx, long))
	for _, rdb := range w.rdbs[:2] {
		check.NoError(t, rdb.Del(ctx, "shop:b").Err())
	}
	err = lock.Release(ctx)
	check.Is(t, err, redislock.ErrLockNotHeld)
	if text := fmt.Sprint(err); strings.Contains(text, "shop:") {
		t.Errorf("got error %q, which shows the prefix", text)
	}
	w.wantHolders(t, "shop:a", 0)
}
