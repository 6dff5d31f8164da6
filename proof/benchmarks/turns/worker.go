package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"

	"github.com/seed-14de3678/redislock/proof/benchmarks/turns/task"
)

// A worker is a process of one version.
type worker struct {
	name    string
	cmd     *exec.Cmd
	in      io.WriteCloser
	orders  *json.Encoder
	answers *json.Decoder
}

// start starts a worker.
func start(ctx context.Context, program string) (*worker, error) {
	w := &worker{name: program, cmd: exec.CommandContext(ctx, program)}
	w.cmd.Stderr = os.Stderr
	var err error
	if w.in, err = w.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	w.orders, w.answers = json.NewEncoder(w.in), json.NewDecoder(out)
	return w, w.cmd.Start()
}

// do gives an order.
func (w *worker) do(order task.Order) (r task.Reading, err error) {
	err = errors.Join(w.orders.Encode(order), w.answers.Decode(&r))
	if err == nil && r.Failed != "" {
		err = errors.New(r.Failed)
	}
	if err != nil {
		err = fmt.Errorf("%s of %s: %w", order.Do, w.name, err)
	}
	return r, err
}

// stop ends a worker, and returns when it is gone.
func (w *worker) stop() error {
	_ = w.in.Close() // it fails if it was closed before
	return w.cmd.Wait()
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
