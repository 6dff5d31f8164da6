package world

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// ScenarioBeside is Scenario, and runs fn also beside 64 callers of the same Client. Each of them obtains and releases
// a key all the time, so the requests of fn travel together with theirs.
func ScenarioBeside(t *testing.T, fn func(t *testing.T, w *World)) {
	t.Helper()
	Scenario(t, fn)
	t.Run("beside others", func(t *testing.T) {
		w := New(t, redistest.Shared(t, redistest.Redis))
		others := w.beside(t, 64)
		fn(t, w)
		if others.stop(); others.shared.Load() == 0 {
			t.Errorf("none of %d requests went together with others", others.alone.Load())
		}
	})
}

// others are callers beside a scenario. They see which requests of the scenario go together with theirs.
type others struct {
	of, prefix    string       // of the keys of the scenario, and of the others
	shared, alone atomic.Int64 // requests of the scenario
	stop          func()
}

// beside starts so many callers, which go on until stop, or the end of the test.
func (w *World) beside(t *testing.T, n int) *others {
	t.Helper()
	o := &others{of: w.Prefix, prefix: NewName(t)}
	w.RDB.AddHook(check.Around{Send: o.send})
	var wg sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	for i := range n {
		wg.Go(func() {
			for ctx.Err() == nil {
				o.turn(t, w.Client, fmt.Sprint(o.prefix, i))
			}
		})
	}
	o.stop = sync.OnceFunc(func() { cancel(); wg.Wait() })
	t.Cleanup(o.stop)
	// They are so many from the start that there is always a request to go with.
	check.Eventually(t, Soon, "the others are under way", func() bool { return w.RDB.Exists(t.Context(), fmt.Sprint(o.prefix, n-1)).Val() == 1 })
	return o
}

// turn is one turn of such a caller.
func (o *others) turn(t *testing.T, client *redislock.Client, key string) {
	t.Helper()
	lock, err := client.Obtain(context.Background(), []string{key}, Long, nil)
	if err == nil {
		err = lock.Release(context.Background())
	}
	if err != nil {
		t.Errorf("a caller beside the scenario: %v", err)
	}
}

// send notes which requests of the scenario are among commands that go together.
func (o *others) send(cmds []redis.Cmder, send func([]redis.Cmder) error) error {
	of, beside := int64(0), false
	for _, cmd := range cmds {
		named := false
		for _, key := range check.RunIn(cmd).Keys {
			named = named || strings.HasPrefix(key, o.of)
			beside = beside || strings.HasPrefix(key, o.prefix)
		}
		if named {
			of++
		}
	}
	if beside {
		o.shared.Add(of)
	} else {
		o.alone.Add(of)
	}
	return send(cmds)
}
