package multi_test

import (
	"context"
	"strings"
	"testing"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/multi"
)

// Parts whose Client can do nothing are refused, wherever they stand.
func TestPartsWithoutRedis(t *testing.T) {
	t.Parallel()
	good := redislock.New(redistest.StartMini(t).Client(t))
	t.Cleanup(good.Close)
	for want, client := range map[string]*redislock.Client{
		"has no Client":                  nil,
		"the Client was not made by New": new(redislock.Client),
		"New was given no Redis client":  redislock.New(nil),
	} {
		for _, parts := range [][]multi.Part{
			{{Client: client, Set: redislock.Set{Write: []string{"a"}}}},
			{{Client: client, Set: redislock.Set{Write: []string{"a"}, Read: []string{"b"}}}},
			{{Client: good, Place: "1", Set: redislock.Set{Write: []string{"a"}}}, {Client: client, Place: "2", Set: redislock.Set{Write: []string{"a"}}}},
			{{Client: good, Place: "2", Set: redislock.Set{Write: []string{"a"}}}, {Client: client, Place: "1", Set: redislock.Set{Write: []string{"a", "b"}}}},
			multi.BySlot(client, redislock.Set{Write: []string{"a"}, Read: []string{"b"}}),
		} {
			_, err := multi.Obtain(t.Context(), parts, long, nil)
			withErr := multi.With(t.Context(), parts, long, nil, func(context.Context) error { return nil })
			for _, err := range []error{err, withErr} {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got error %v, want one that says %s", err, want)
				}
			}
		}
	}
	lock := must[*redislock.Lock](t)(good.Obtain(t.Context(), []string{"a"}, long, nil))
	noError(t, lock.Release(t.Context()))
}
