package rows

import (
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/proof/internal/measure"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// A turn is one release and one entry into the line, whatever a crowd wants, and all of it is counted.
func TestTurn(t *testing.T) {
	t.Parallel()
	redistest.Need(t, "redis-server")
	for _, w := range wishes {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			s := &stage{}
			defer s.clear()
			servers, err := s.start(1)
			if err != nil {
				t.Fatal(err)
			}
			client := redislock.New(servers[0].Client())
			s.finally(client.Close)
			keys := keysOf("turn", 4)
			crowd := gather(t.Context(), 4, w.take(client, keys))
			s.finally(crowd.part)
			if err := allWait(t.Context(), client, keys[:1], 3); err != nil {
				t.Fatal(err)
			}
			plan := measure.Plan{Blocks: 3, Length: 100 * time.Millisecond}
			results, err := measure.Interleave(t.Context(), plan, []measure.Side{{Servers: servers, Block: crowd.block}})
			if err != nil {
				t.Fatal(err)
			}
			var turns, calls int
			for _, u := range results[0].Blocks {
				turns, calls = turns+u.Ops, calls+u.Calls
			}
			if turns < 3 || calls < 2*turns-plan.Blocks { // on a busy machine one of each block may come back late
				t.Errorf("got %d scripts in %d turns, want two for each", calls, turns)
			}
			if w.name == sameSet && calls > 2*turns+turns/4 {
				t.Errorf("got %d scripts in %d turns, want few more than two for each", calls, turns)
			}
		})
	}
}

// The load of a row is that of its parts, by how long they lasted.
func TestLoadOfParts(t *testing.T) {
	t.Parallel()
	s := &stage{
		loads:  []measure.Load{{Known: true, Others: .1}, {Known: true, Others: .5, Steal: .04}},
		lasted: []time.Duration{3 * time.Second, time.Second},
	}
	if got, want := s.load(), (measure.Load{Known: true, Others: .2, Steal: .01}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestUsed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		value float64
		limit measure.Limit
		want  float64
	}{
		"half of it":    {5, measure.Limit{Value: 10}, .5},
		"beyond it":     {20, measure.Limit{Value: 10}, 2},
		"not enough":    {.5, measure.Limit{Value: 1, AtLeast: true}, 2},
		"none at all":   {0, measure.Limit{}, 0},
		"some for none": {3, measure.Limit{}, 3},
	} {
		if got := (Claim{Value: measure.Exactly(test.value), Limit: test.limit}).Used(); got != test.want {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
}
