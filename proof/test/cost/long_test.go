package cost_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/slot"
	"github.com/seed-14de3678/redislock/internal/world"
)

// copies puts n copies of the last waiter into its lines, behind it.
func (m *meter) copies(t *testing.T, s standing, keys []string, n int) {
	t.Helper()
	const chunk = 1000
	for _, key := range keys {
		line := slot.Beside("line", key)
		last := check.Must[[]redis.Z](t)(m.admin.ZRangeWithScores(t.Context(), line, -1, -1).Result())[0]
		entry, ok := last.Member.(string)
		if !ok || !strings.Contains(entry, s.id) {
			t.Fatalf("%v is the last in line, want %s", last.Member, s.id)
		}
		pipe := m.admin.Pipeline()
		for first := 0; first < n; first += chunk {
			var entries []redis.Z
			for i := first; i < min(first+chunk, n); i++ {
				entries = append(entries, redis.Z{Score: last.Score + float64(i+1), Member: strings.ReplaceAll(entry, s.id, generated(i))})
			}
			pipe.ZAdd(t.Context(), line, entries...)
		}
		check.Must[[]redis.Cmder](t)(pipe.Exec(t.Context()))
	}
}

// A longStep is what a step has cost, and how many scripts it took. On a machine that is busy they are more: then somebody has
// asked again meanwhile, because it stands in line for some seconds or its subscription is new.
type longStep struct {
	commands world.Commands
	scripts  int
}

// However many stand in line, a turn costs the same, and one who gives up as well; no script looks at all of them.
func TestLongLines(t *testing.T) {
	t.Parallel()
	m := newMeter(t)
	for _, k := range []int{1, 4} {
		cheap(t, func(b *bill) {
			costs := make(map[string][]longStep) // of a short line and of a long one
			for _, long := range []int{0, 20_000} {
				r := newRow(t, m, sameSet(k), m.client)
				lock := r.begins(t, depth)
				ctx, cancel := context.WithCancel(t.Context())
				gone := make(chan error, 1)
				go func() {
					_, err := m.client.Obtain(world.Apart(ctx), r.wish(0).write, world.Long, &redislock.Options{Queue: true})
					gone <- err
				}()
				m.copies(t, waits(t, "stands in line", m.entered), r.wish(0).write, long)
				for _, step := range []struct {
					name string
					do   func()
				}{
					{"a turn", func() { lock = r.turn(t, lock, 0) }},
					{"one gives up", func() { cancel(); check.Is(t, <-gone, context.Canceled) }},
					{"one is refused", func() {
						_, err := m.client.Obtain(t.Context(), r.wish(0).write, world.Long, nil)
						check.Is(t, err, redislock.ErrNotObtained)
					}},
					{"another turn", func() { lock = r.turn(t, lock, 1) }},
				} {
					name := fmt.Sprintf("%s of a line with %d more", step.name, long)
					check.NoError(t, m.admin.ScriptFlush(t.Context()).Err())
					m.notLookedAt(t, name, func() {
						commands := m.counts(t, step.do)
						costs[step.name] = append(costs[step.name], longStep{commands, m.scripts})
					})
				}
				r.ends(t, lock)
			}
			for what, of := range costs {
				most := limit{0, of[0].commands.Total()}.and(onceASecond)
				for range of[1].scripts - of[0].scripts {
					most = most.and(askingAgain)
				}
				most.within(b, what+" of a long line", k, of[1].commands)
			}
		})
	}
}
