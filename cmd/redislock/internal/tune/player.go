package tune

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/pflag"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/measure"
	"github.com/seed-14de3678/redislock/internal/pace"
	"github.com/seed-14de3678/redislock/internal/turns"
)

// playerName is the command that the tool calls for each process of the load.
const playerName = "tune-load"

// Player is the command of one process of the load. Nobody calls it but tune.
func Player() cli.Command {
	return cli.Command{
		Name:     playerName,
		Summary:  "play a part of the load of tune, which calls this",
		Examples: []cli.Example{{Line: "redislock tune", About: "calls it"}},
		Hidden:   true,
		Signals:  true,
		Define: func(*pflag.FlagSet) cli.Action {
			return func(ctx context.Context, to cli.Streams, _ []string) error {
				// Ctrl-C reaches every process of a terminal. This one ends when its standard input does.
				signal.Ignore(os.Interrupt)
				return serve(ctx, to)
			}
		},
	}
}

// A player is one process of the load.
type player struct {
	setup
	names   []string
	sent    *atomic.Int64
	clients []*redislock.Client // one for each policy, as a program has one
	options []redislock.Options
}

// serve plays what it is told to until its input ends.
func serve(ctx context.Context, to cli.Streams) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	in, out := json.NewDecoder(to.In), json.NewEncoder(to.Out)
	p := &player{}
	if err := in.Decode(&p.setup); err != nil {
		return fmt.Errorf("what to play: %w", err)
	}
	conn, err := (&cli.Redis{URL: p.URL, Prefix: p.Prefix}).Open(ctx)
	if err == nil {
		err = p.prepare(conn)
		defer conn.Close() //nolint:errcheck // everything was released before
	}
	if err := out.Encode(failed(ctx, err)); err != nil || conn == nil {
		return err
	}
	defer p.close()
	orders := make(chan order)
	go func() {
		defer close(orders)
		for o := (order{}); in.Decode(&o) == nil; o = (order{}) {
			orders <- o
		}
		cancel(io.EOF) // a slice that is played has nobody any more who wants it
	}()
	for o := range orders {
		if err := out.Encode(p.play(ctx, o)); err != nil {
			return err
		}
	}
	return nil
}

// failed is a part that only says what went wrong, if something did.
func failed(ctx context.Context, err error) part {
	if err == nil {
		return part{}
	}
	err = cli.Explain(ctx, err)
	p := part{Error: err.Error()}
	if e, ok := errors.AsType[*cli.StatusError](err); ok {
		p.Status = e.Status
	}
	return p
}

// prepare makes what all slices need.
func (p *player) prepare(conn *cli.Conn) (err error) {
	if p.names, err = namesOf(p.Pattern, p.Load.Of); err != nil {
		return err
	}
	p.sent = measure.Scripts(conn.RDB)
	for _, spec := range p.Policies {
		options, err := parseOptions(spec)
		if err != nil {
			return err
		}
		options.Metadata, options.Wait = p.Mark, p.Load.Wait
		p.options = append(p.options, options)
		p.clients = append(p.clients, conn.Client())
	}
	return nil
}

// close ends what the clients do in the background.
func (p *player) close() {
	for _, c := range p.clients {
		c.Close()
	}
}

// A worker obtains, holds, releases and pauses in turn. Nobody else writes what it has seen.
type worker struct {
	*player
	order
	draw
	turns.Caller
	lost int
	err  error
}

// play plays one slice and says what was seen.
func (p *player) play(ctx context.Context, o order) part {
	used := processCPU()
	up, stop := context.WithTimeout(ctx, o.Length)
	defer stop()
	var seen part
	workers := make([]worker, p.Load.Workers)
	var all sync.WaitGroup
	all.Go(func() { seen.Late, seen.Watched = lateness(up, pace.Sleep) })
	for i := range workers {
		w := &workers[i]
		w.player, w.order, w.draw, w.Refusal = p, o, newDraw(o.Round, p.First+i), redislock.ErrNotObtained
		all.Go(func() {
			if w.err = w.work(up); w.err != nil {
				stop()
			}
		})
	}
	pace.Sleep(up, o.Lead)
	sent, began := p.sent.Load(), time.Now()
	for i := range workers {
		seen.Waits.Join(workers[i].Read().Waits)
	}
	<-up.Done()
	seen.Commands, seen.Length = p.sent.Load()-sent, time.Since(began)
	all.Wait() // nobody changes what a worker has seen any more
	seen.CPU = processCPU() - used
	for i := range workers {
		w := &workers[i]
		had := w.Read()
		seen.Acquired = append(seen.Acquired, had.Turns)
		seen.GaveUp += had.Refused
		seen.Waits.Join(had.Waits)
		seen.Lost += w.lost
		if w.err != nil && seen.Error == "" {
			end := failed(ctx, w.err)
			seen.Error, seen.Status = end.Error, end.Status
		}
	}
	return seen
}

// work goes on until time is up.
func (w *worker) work(up context.Context) error {
	var keys []string
	var hold time.Duration
	c, opt := w.clients[w.Policy], &w.options[w.Policy]
	use := func(lock *redislock.Lock) error {
		pace.Sleep(up, hold)
		return w.release(lock)
	}
	for up.Err() == nil {
		keys, hold = w.keys(w.names, w.Load.Keys), w.hold(&w.Load)
		obtain := c.Obtain
		if w.Float64() < w.Load.Readers {
			obtain = c.ObtainRead
		}
		err := turns.Try(up, &w.Caller, func(ctx context.Context) (*redislock.Lock, error) { return obtain(ctx, keys, w.TTL, opt) }, use)
		if err != nil {
			return err
		}
		if w.Load.Think > 0 {
			pace.Sleep(up, w.Load.Think)
		}
	}
	return nil
}

// releasing is how long a server may take that does not answer.
const releasing = 5 * time.Second

// release gives a lock back, also when time is up.
func (w *worker) release(lock *redislock.Lock) error {
	ctx, cancel := context.WithTimeout(context.Background(), releasing)
	defer cancel()
	err := lock.Release(ctx)
	if errors.Is(err, redislock.ErrLockNotHeld) {
		w.lost++
		return nil
	}
	return err
}
