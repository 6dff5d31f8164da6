package line_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/internal/world"
)

// A call of a round asks for no more keys than its size says, and for one waiter alone if that has more.
func TestRoundsOfLargeSets(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		waiters, keys int
		want          []int // how many waiters each call of a round is for
	}{
		"one key":        {210, 1, []int{192, 10}},
		"two fit":        {12, 96, []int{2, 2}},
		"two do not fit": {12, 97, []int{1, 1, 1, 1}},
		"none fits":      {10, 200, []int{1, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			inStill(t, func(t *testing.T, s *still) {
				var keys []string
				for i := range c.keys {
					keys = append(keys, fmt.Sprint("k", i))
				}
				ctx, cancel := context.WithCancel(t.Context())
				turns := make(chan world.Turn, c.waiters)
				for i := range c.waiters {
					(&world.World{Client: s.client}).Wait(ctx, turns, fmt.Sprint(i), keys, nil)
				}
				time.Sleep(6 * time.Second)
				var got []int
				for _, call := range s.rounds()[0] {
					got = append(got, len(call.ids))
				}
				if fmt.Sprint(got) != fmt.Sprint(c.want) {
					t.Errorf("the calls were for so many waiters: %d, want %d", got, c.want)
				}
				cancel()
				for range c.waiters {
					<-turns
				}
			})
		})
	}
}
