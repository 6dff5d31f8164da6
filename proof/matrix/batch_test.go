package matrix_test

import (
	"context"
	"strings"
	"sync"
)

// Calls share a script if they come while others are under way. inBatch has an operation of the cell share
// one with an Obtain of another owner: two more are under way meanwhile, which is as many as there may be.
func inBatch(operation func(ctx context.Context, c *cell) error) func(context.Context, *cell) error {
	return func(ctx context.Context, c *cell) error {
		gate, name := make(chan struct{}), c.prefix+ofOthers
		c.set(func() { c.network.gate = gate })
		var others sync.WaitGroup
		obtain := func(key string) {
			others.Go(func() {
				if lock, err := c.main.Obtain(c.t.Context(), []string{name + key}, firstTTL, nil); err == nil {
					defer lock.Release(c.t.Context())
				}
			})
			c.settle()
		}
		obtain("1")
		obtain("2")
		ended := make(chan error, 1)
		go func() { ended <- operation(ctx, c) }()
		c.settle()
		obtain("3")
		c.set(func() { c.network.gate = nil })
		close(gate)
		defer others.Wait()
		return <-ended
	}
}

// ofOthers is in the names of keys that are of no interest.
const ofOthers = "others"

// isOfOthers reports whether a request is about these alone.
func (r *request) isOfOthers() bool {
	for _, key := range r.keys {
		if !strings.Contains(key, ofOthers) {
			return false
		}
	}
	return true
}

// batchRows are the late requests that share a script with others.
func batchRows() []*row {
	var rows []*row
	for _, generated := range []bool{false, true} {
		for _, r := range []row{
			{name: "obtain in a batch", code: 'W', run: inBatch(lateObtain('W', false))},
			{name: "release in a batch", code: 'r', base: 'W', run: inBatch(func(ctx context.Context, c *cell) error {
				return c.release(ctx)
			})},
		} {
			r.name, r.size, r.generated = r.name+suffixOf(3, generated), 3, generated
			if generated && r.code == 'r' {
				r.harmless = freesItsOwn
			}
			rows = append(rows, &r)
		}
	}
	return rows
}
