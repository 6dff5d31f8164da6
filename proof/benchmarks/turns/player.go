package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/seed-14de3678/redislock/internal/turns"
	"github.com/seed-14de3678/redislock/proof/benchmarks/turns/task"
	"github.com/seed-14de3678/redislock/proof/internal/measure"
)

// A player plays a scene.
type player struct {
	scene  scene
	bench  *bench
	blocks []turns.Shares
	usages []measure.Usage // what the workers have used in these blocks
}

// side is how the scene is measured. One crowd is there at a time. Its callers come before a block and go after it, so that what is
// counted is what they do while all of them are there.
func (p *player) side() measure.Side {
	workers := p.bench.workers[p.scene.version][:p.scene.processes]
	return measure.Side{
		Name: string(p.scene.way), At: p.scene.callers, Servers: []*measure.Server{p.bench.server},
		Before: func(context.Context) error {
			if err := p.bench.part(); err != nil {
				return err
			}
			p.bench.part = func() error { return nil }
			if err := p.gather(workers); err != nil {
				return err
			}
			p.bench.part = func() error {
				_, err := all(workers, task.Order{Do: task.Stop})
				return err
			}
			return nil
		},
		Block: func(_ context.Context, length time.Duration) (int, error) { return p.block(workers, length) },
	}
}

// gather has the callers come.
func (p *player) gather(workers []*worker) error {
	p.bench.keys++
	order := task.Order{
		Do: task.Start, Way: p.scene.way, Addr: p.bench.server.Addr(), Key: fmt.Sprintf("lock:turns:%04d", p.bench.keys),
		Callers: p.scene.callers, Hold: p.scene.hold, Interval: p.scene.interval,
	}
	if p.scene.delayed {
		order.Addr = p.bench.relay.Addr()
	}
	_, err := all(workers, order)
	time.Sleep(settling)
	return err
}

// patience is how long a block may last in which nobody has a turn.
const patience = 30 * time.Second

// block lets so much time pass, and more on a machine that is so busy that nobody has had a turn: then there is nothing to compare.
func (p *player) block(workers []*worker, length time.Duration) (ops int, err error) {
	at, err := all(workers, task.Order{Do: task.Read})
	if err != nil {
		return 0, err
	}
	var b turns.Shares
	var u measure.Usage
	for began := time.Now(); ops == 0; {
		time.Sleep(length)
		u = measure.Usage{Wall: time.Since(began)}
		then, err := all(workers, task.Order{Do: task.Read})
		if err != nil {
			return 0, err
		}
		var shares turns.Shares
		for i, now := range then {
			shares.Join(now.Shares)
			u.ClientCPU += now.CPU - at[i].CPU
			u.Allocs += now.Allocs - at[i].Allocs
		}
		b.Add(shares)
		if ops = b.Total(); ops == 0 && u.Wall > patience {
			return 0, fmt.Errorf("%s, %d callers: nobody had a turn within %s", p.scene.way, p.scene.callers, patience)
		}
	}
	p.blocks, p.usages = append(p.blocks, b), append(p.usages, u)
	return ops, nil
}

// played puts what the workers have used into the result. The first block is not counted.
func (p *player) played(result measure.Result) played {
	for i, u := range p.usages[1:] {
		b := &result.Blocks[i]
		b.Wall, b.ClientCPU, b.Allocs = u.Wall, u.ClientCPU, u.Allocs
	}
	return played{result, p.scene, p.blocks[1:]}
}

// shares are what the callers had in all blocks.
func (p played) shares() (sum turns.Shares) {
	for _, b := range p.blocks {
		sum.Add(b)
	}
	return sum
}

// uneven is how many times the mean the most turns of a caller are.
func (p played) uneven() measure.Spread {
	all := p.shares()
	return measure.Exactly(float64(slices.Max(all.Turns)*len(all.Turns)) / float64(all.Total()))
}

// longWaits is how many times the mean the longest wait is, block by block.
func (p played) longWaits() []float64 {
	values := make([]float64, len(p.blocks))
	for i, b := range p.blocks {
		values[i] = float64(b.Waits.Most) * float64(p.Blocks[i].Ops) / float64(b.Waits.Sum)
	}
	return values
}
