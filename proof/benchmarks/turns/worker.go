package main

import (
	"context"
	"fmt"

	"github.com/seed-14de3678/redislock/proof/benchmarks/turns/task"
	process "github.com/seed-14de3678/redislock/proof/internal/worker"
)

// A worker is a process of one version.
type worker struct {
	*process.Process[task.Order, task.Reading]
	name string
}

// start starts a worker.
func start(ctx context.Context, program string) (*worker, error) {
	p, err := process.Start[task.Order, task.Reading](ctx, program)
	return &worker{p, program}, err
}

// do gives an order.
func (w *worker) do(order task.Order) (r task.Reading, err error) {
	if r, err = w.Do(order); err != nil {
		err = fmt.Errorf("%s of %s: %w", order.Do, w.name, err)
	}
	return r, err
}

// all gives an order to several workers, one after the other.
func all(workers []*worker, order task.Order) (readings []task.Reading, err error) {
	for _, w := range workers {
		r, err := w.do(order)
		if err != nil {
			return nil, err
		}
		readings = append(readings, r)
	}
	return readings, nil
}
