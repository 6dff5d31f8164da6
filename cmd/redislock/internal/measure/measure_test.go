package measure

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

const ms = time.Millisecond

func TestMain(m *testing.M) { redistest.Main(m) }

// What is late beyond what every timer is counts, and nothing else does.
func TestLateness(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		delays := []time.Duration{0, punctual, 10 * ms, 40 * ms}
		late, watched := lateness(t.Context(), func(_ context.Context, d time.Duration) bool {
			if len(delays) == 0 {
				return false
			}
			time.Sleep(d + delays[0])
			delays = delays[1:]
			return true
		})
		if late != 50*ms-2*punctual || watched != 4*probePause+50*ms+punctual {
			t.Errorf("late for %v of %v", late, watched)
		}
	})
}

func TestDraw(t *testing.T) {
	t.Parallel()
	var names []string
	for i := range 10 {
		names = append(names, fmt.Sprint("key ", i))
	}
	seen := map[string]int{}
	for n := 1; n <= 10; n++ {
		for round := range 50 {
			one, two, other := newDraw(round, 1), newDraw(round, 1), newDraw(round, 2)
			keys := drawKeys(one, names, n)
			if diff := cmp.Diff(keys, drawKeys(two, names, n)); diff != "" {
				t.Fatalf("policies do not play the same: %s", diff)
			}
			if sorted := slices.Compact(slices.Sorted(slices.Values(keys))); len(sorted) != n {
				t.Fatalf("%d of %q", n, keys)
			}
			if n == 1 {
				seen[keys[0]+drawKeys(other, names, n)[0]]++
			}
		}
	}
	if len(seen) < 20 {
		t.Errorf("workers have the same keys: %v", seen)
	}
}

// A slice counts what the workers had, and leaves no lock, whatever ends it.
func TestPlay(t *testing.T) {
	t.Parallel()
	conn := check.Must[*cli.Conn](t)(cli.Embed())
	t.Cleanup(func() { _ = conn.Close() })
	client := conn.Client()
	t.Cleanup(client.Close)
	p := NewPlayer(conn.RDB, Load{Names: []string{"a", "b"}, Keys: 1, TTL: time.Minute, Workers: 3, Holds: []time.Duration{ms}, Readers: .5})
	free := func() {
		t.Helper()
		check.Eventually(t, 20*time.Second, "every key is free", func() bool {
			states := check.Must[[]redislock.KeyState](t)(client.Inspect(t.Context(), p.Names))
			return states[0].Mode == redislock.ModeFree && states[1].Mode == redislock.ModeFree
		})
	}
	var all Part
	for all.Total() == 0 || all.Refused == 0 {
		all.Add(check.Must[Part](t)(p.Play(t.Context(), client, nil, Slice{Lead: 10 * ms, Length: 50 * ms})))
		free()
	}
	if int64(all.Total()) > p.Had.Load() || all.Commands < int64(all.Total()) || all.Watched == 0 || len(all.Turns) != 3 {
		t.Errorf("%d locks in all, of them %+v", p.Had.Load(), all)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(10*ms, func() { cancel(context.Canceled) })
	_, err := p.Play(ctx, client, &redislock.Options{Queue: true}, Slice{Length: time.Hour})
	check.Is(t, err, context.Canceled)
	free()
	_, err = p.Play(t.Context(), client, &redislock.Options{Queue: true, Metadata: string(make([]byte, 1<<20))}, Slice{Length: time.Hour})
	if err == nil {
		t.Error("a refusal of the library does not end the slice")
	}
}
