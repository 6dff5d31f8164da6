package work

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/seed-14de3678/redislock/proof/torture/history"
)

// Role is Run in a process of its own, until SIGTERM. Its argument is a Config as JSON.
func Role(args []string) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	var c Config
	err := fmt.Errorf("work: %d arguments, not one", len(args))
	if len(args) == 1 {
		err = json.Unmarshal([]byte(args[0]), &c)
	}
	if err == nil {
		err = Run(ctx, c)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// A process is what its callers share.
type process struct {
	Config
	*connection
	load   Load
	groups [][]string // keys that can be one set
	out    *history.Writer
	ops    atomic.Int64
	holds  holds
	given  given
	pairs  []*pair // of callers who share tokens

	background sync.WaitGroup // watchers of losses

	complaints struct {
		mu  sync.Mutex
		all []error
	}
}

// complain takes note of something that the library has not done as it promises, and that no checker can see. Run returns it.
func (p *process) complain(format string, args ...any) {
	err := fmt.Errorf("work: "+format, args...)
	p.out.Add(history.Event{Kind: history.Note, Name: "complaint", Error: err.Error()})
	p.complaints.mu.Lock()
	defer p.complaints.mu.Unlock()
	p.complaints.all = append(p.complaints.all, err)
}

// Run plays one process: it says that it is ready, then its callers make operations until ctx ends. It returns when
// everything that it holds was released.
func Run(ctx context.Context, c Config) error {
	load, err := find(c.Load)
	if err != nil {
		return err
	}
	out, err := history.Create(c.History, c.Process)
	if err != nil {
		return fmt.Errorf("work: %w", err)
	}
	p := &process{Config: c, load: load, out: out, groups: groups(c.Target.Topology, c.Keys)}
	if p.connection, err = connect(c, load, p.hooks, p.given.see); err != nil {
		return err
	}
	watching, stopWatching := context.WithCancel(context.Background())
	var watch sync.WaitGroup
	watch.Go(func() { Stalls(watching, out) })
	fmt.Println("ready")

	p.play(ctx)
	p.close()
	p.background.Wait()
	out.Add(history.Event{Kind: history.Left})
	stopWatching()
	watch.Wait()
	return errors.Join(append(p.complaints.all, out.Close())...)
}

// play runs the callers until ctx ends.
func (p *process) play(ctx context.Context) {
	number := p.Clients * max(1, p.load.crowd)
	for range (number + 1) / 2 {
		p.pairs = append(p.pairs, &pair{})
	}
	var callers sync.WaitGroup
	for n := 1; n <= number; n++ {
		c := &caller{
			process: p, number: n, pair: p.pairs[(n-1)/2],
			rng: rand.New(rand.NewPCG(p.Seed, uint64(p.Process)<<16|uint64(n))),
		}
		callers.Go(func() {
			for ctx.Err() == nil {
				p.load.step(ctx, c)
				c.think(ctx)
			}
		})
	}
	callers.Wait()
}
