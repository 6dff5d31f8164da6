// Package worker is processes that are given orders by their input, one a line, and answer each by a line. It needs nothing of
// the library, so that a worker can be built with any version of it.
package worker

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
)

// An Answer may say what went wrong.
type Answer interface {
	// Failure is empty if the order was done.
	Failure() string
}

// A Process is a worker, as whoever gives it orders sees it.
type Process[Order any, A Answer] struct {
	Input   io.WriteCloser
	cmd     *exec.Cmd
	orders  *json.Encoder
	answers *json.Decoder
}

// Start starts a worker.
func Start[Order any, A Answer](ctx context.Context, program string, args ...string) (_ *Process[Order, A], err error) {
	p := &Process[Order, A]{cmd: exec.CommandContext(ctx, program, args...)}
	p.cmd.Stderr = os.Stderr
	if p.Input, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.orders, p.answers = json.NewEncoder(p.Input), json.NewDecoder(out)
	return p, p.cmd.Start()
}

// Do has an order done.
func (p *Process[Order, A]) Do(order Order) (a A, err error) {
	err = errors.Join(p.orders.Encode(order), p.answers.Decode(&a))
	if failed := a.Failure(); err == nil && failed != "" {
		err = errors.New(failed)
	}
	return a, err
}

// Stop ends a worker, and returns when it is gone.
func (p *Process[Order, A]) Stop() error {
	_ = p.Input.Close() // it fails if it was closed before
	return p.cmd.Wait()
}

// Work does the orders of in, until there are no more. An error of do ends it.
func Work[Order any, A Answer](in io.Reader, out io.Writer, do func(Order) (A, error)) error {
	orders, answers := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var order Order
		if err := orders.Decode(&order); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		a, err := do(order)
		if err != nil {
			return err
		}
		if err := answers.Encode(a); err != nil {
			return err
		}
	}
}
