package reentrant_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/reentrant"
)

// An owner has again what it holds through a Client with a prefix, and what it holds is named without it.
func TestPrefixedClient(t *testing.T) {
	scenario(t, func(t *testing.T, w *world) {
		whole := w.client
		w.client = redislock.New(w.rdb, redislock.WithKeyPrefix(w.prefix))
		t.Cleanup(w.client.Close)
		outer := must[*reentrant.Hold](t)(reentrant.ObtainSet(w.ctx, w.client, redislock.Set{Write: []string{"a", "b"}, Read: []string{"r"}}, long, nil))
		inner := must[*reentrant.Hold](t)(reentrant.Obtain(w.ctx, w.client, []string{"b", "c"}, long, nil))
		if got := inner.Keys(); !slices.Equal(slices.Sorted(slices.Values(got)), []string{"b", "c"}) {
			t.Errorf("got keys %q", got)
		}
		noError(t, outer.Release(w.ctx))
		_, err := whole.Obtain(w.ctx, w.keys("b"), long, nil)
		wantIs(t, err, redislock.ErrNotObtained) // the inner hold has it
		for _, name := range []string{"a", "r"} {
			noError(t, must[*redislock.Lock](t)(whole.Obtain(w.ctx, w.keys(name), long, nil)).Release(w.ctx))
		}
		_, err = reentrant.ObtainRead(reentrant.NewOwner(t.Context()), w.client, []string{"c"}, long, nil)
		wantIs(t, err, redislock.ErrNotObtained)
		if text := fmt.Sprint(err); strings.Contains(text, w.prefix) || !strings.Contains(text, `"c" is write-locked`) {
			t.Errorf("got error %q, want it to name \"c\" without the prefix", text)
		}
		noError(t, inner.Release(w.ctx))
	})
}
