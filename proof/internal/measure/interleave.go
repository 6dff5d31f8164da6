package measure

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// A Side is one of several that are measured side by side.
type Side struct {
	Name    string
	At      int       // what grows, such as the number of keys
	Servers []*Server // on which its work is counted

	// Block does the work for about so long, and says how many operations it did.
	Block func(ctx context.Context, length time.Duration) (ops int, err error)
	// Before, if not nil, prepares each block. It is not measured.
	Before func(context.Context) error
}

// A Plan says for how long each side is measured.
type Plan struct {
	Blocks int           // of each side
	Length time.Duration // of each block
}

// For is the plan of so long a time for each side. The blocks are short, so that what disturbs the
// machine for a moment disturbs all sides.
func For(length time.Duration) Plan {
	const blocks = 9
	return Plan{Blocks: blocks, Length: length / blocks}
}

// A Result is what was measured of a side, block by block.
type Result struct {
	Name   string
	At     int
	Blocks []Usage
}

// Interleave measures sides in alternating blocks, each round in another order: so all of them see
// the same load of the machine. A first, short round is not counted: it connects and loads scripts.
func Interleave(ctx context.Context, plan Plan, sides []Side) ([]Result, error) {
	results := make([]Result, len(sides))
	for i, side := range sides {
		results[i] = Result{Name: side.Name, At: side.At}
		if _, err := side.block(ctx, plan.Length/10); err != nil {
			return nil, err
		}
	}
	order := make([]int, len(sides))
	for i := range order {
		order[i] = i
	}
	for range plan.Blocks {
		for _, i := range order {
			usage, err := sides[i].block(ctx, plan.Length)
			if err != nil {
				return nil, err
			}
			results[i].Blocks = append(results[i].Blocks, usage)
		}
		slices.Reverse(order)
	}
	return results, nil
}

// block does and measures one block.
func (s Side) block(ctx context.Context, length time.Duration) (Usage, error) {
	if err := ctx.Err(); err != nil {
		return Usage{}, err
	}
	if s.Before != nil {
		if err := s.Before(ctx); err != nil {
			return Usage{}, fmt.Errorf("%s at %d: before a block: %w", s.Name, s.At, err)
		}
	}
	now := note(pace())
	before, err := used(ctx, s.Servers)
	if err != nil {
		return Usage{}, err
	}
	ops, err := s.Block(ctx, length)
	if err != nil {
		return Usage{}, fmt.Errorf("%s at %d: %w", s.Name, s.At, err)
	}
	after, err := used(ctx, s.Servers)
	if err != nil {
		return Usage{}, err
	}
	usage := after.less(before)
	usage.Ops, usage.Pace = ops, now
	return usage, nil
}

// Repeat is a Block of one goroutine that does one thing again and again. The context of the thing
// has no end, because a call that may be given up costs more.
func Repeat(work func(context.Context) error) func(context.Context, time.Duration) (int, error) {
	return func(ctx context.Context, length time.Duration) (ops int, err error) {
		ctx = context.WithoutCancel(ctx)
		for began := time.Now(); ops == 0 || time.Since(began) < length; ops++ {
			if err := work(ctx); err != nil {
				return ops, err
			}
		}
		return ops, nil
	}
}

// Spread returns a metric of all blocks.
func (r Result) Spread(m Metric) Spread {
	values := make([]float64, len(r.Blocks))
	for i, usage := range r.Blocks {
		values[i] = m.of(usage)
	}
	return SpreadOf(values)
}

// Ratio divides a metric of one side by that of another, round by round. Both were measured
// together.
func Ratio(of, by Result, m Metric) Spread {
	values := make([]float64, min(len(of.Blocks), len(by.Blocks)))
	for i := range values {
		values[i] = m.of(of.Blocks[i]) / m.of(by.Blocks[i])
	}
	return SpreadOf(values)
}
