package redislock

import (
	"context"
	"strings"
	"sync"
)

// Calls share a script if they come while others are under way. matrixBatch has an operation of the cell share
// one with an Obtain of another owner: two more are under way meanwhile, which is as many as there may be.
func matrixBatch(operation func(ctx context.Context, c *matrixCell) error) func(context.Context, *matrixCell) error {
	return func(ctx context.Context, c *matrixCell) error {
		gate, name := make(chan struct{}), c.prefix+matrixOthers
		c.set(func() { c.wire.gate = gate })
		var others sync.WaitGroup
		obtain := func(key string) {
			others.Go(func() {
				if lock, err := c.main.Obtain(c.t.Context(), []string{name + key}, matrixTTL, nil); err == nil {
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
		c.set(func() { c.wire.gate = nil })
		close(gate)
		defer others.Wait()
		return <-ended
	}
}

// matrixOthers is in the names of keys that are of no interest.
const matrixOthers = "others"

// isOfOthers reports whether a request is about these alone.
func (r *matrixRequest) isOfOthers() bool {
	for _, key := range r.keys {
		if !strings.Contains(key, matrixOthers) {
			return false
		}
	}
	return true
}

// matrixBatchRows are strays that share a script with others.
func matrixBatchRows() []*matrixRow {
	var rows []*matrixRow
	for _, generated := range []bool{false, true} {
		for _, r := range []matrixRow{
			{name: "obtain in a batch", code: 'W', run: matrixBatch(obtainStray('W', false))},
			{name: "release in a batch", code: 'r', base: 'W', run: matrixBatch(func(ctx context.Context, c *matrixCell) error {
				return c.release(ctx)
			})},
		} {
			r.name, r.size, r.generated = r.name+matrixSuffix(3, generated), 3, generated
			if generated && r.code == 'r' {
				r.harmless = matrixFreesItsOwn
			}
			rows = append(rows, &r)
		}
	}
	return rows
}
