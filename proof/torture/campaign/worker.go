package campaign

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-14de3678/redislock/proof/torture/check"
	"github.com/seed-14de3678/redislock/proof/torture/history"
)

// A Worker is a process of a round.
type Worker interface {
	Pause() // SIGSTOP
	Resume()
	Kill() // SIGKILL; returns when it is gone
	// End asks it to end by itself, which takes no longer than it has to.
	End()
	// Dump asks it to end at once and to say what it was doing.
	Dump()
	// Wait returns when it has ended: nil if by itself.
	Wait() error
}

// The faults that are done to workers.
const (
	workerKill      = "worker-kill" // and a new one after the time of the fault
	workerStopShort = "worker-stop-short"
	workerStopLong  = "worker-stop-long" // longer than a lease
)

// workerKinds are the kinds of these. A lock whose holder was killed ends by its lease, so the linear checker has no use for it.
var workerKinds = []Kind{
	{Name: workerKill, Breaks: []check.Promise{check.Linear}, Worker: true},
	{Name: workerStopShort, Worker: true},
	{Name: workerStopLong, Worker: true},
}

// hasWord reports whether a name such as server-stop-long has a word.
func hasWord(name, word string) bool { return slices.Contains(strings.Split(name, "-"), word) }

// A crew is the workers of a round.
type crew struct {
	hire func(number int) Worker
	log  *history.Writer

	mu     sync.Mutex
	next   int
	active map[int]Worker // by number
}

func newCrew(size int, log *history.Writer, hire func(number int) Worker) *crew {
	c := &crew{hire: hire, log: log, next: 1, active: map[int]Worker{}}
	for range size {
		c.add()
	}
	return c
}

func (c *crew) add() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.active[c.next] = c.hire(c.next)
	c.next++
}

// strike does to one of the workers what the fault says.
func (c *crew) strike(f Fault) {
	rng := rand.New(rand.NewPCG(f.Seed, 0))
	number, w := c.any(rng)
	switch f.Name {
	case workerKill:
		c.mu.Lock()
		delete(c.active, number)
		c.mu.Unlock()
		w.Kill()
		c.log.Add(history.Event{Kind: history.Killed, Op: number})
		time.Sleep(f.For)
		c.add()
	default:
		w.Pause()
		time.Sleep(f.For)
		w.Resume()
	}
}

// any chooses one of the workers. There always is one: a fault puts back what it takes.
func (c *crew) any(rng *rand.Rand) (int, Worker) {
	c.mu.Lock()
	defer c.mu.Unlock()
	numbers := c.numbers()
	number := numbers[rng.IntN(len(numbers))]
	return number, c.active[number]
}

// numbers of the workers, the smallest first. The caller holds mu.
func (c *crew) numbers() []int {
	var numbers []int
	for n := range c.active {
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	return numbers
}

// dismiss has all workers end, and waits for them. It returns a finding for each that does not within the time, or that ends in
// another way than it was asked to.
func (c *crew) dismiss(patience time.Duration) (found []check.Finding) {
	c.mu.Lock()
	defer c.mu.Unlock()
	type exit struct{ err error }
	ended := map[int]chan exit{}
	for n, w := range c.active {
		w.End()
		end := make(chan exit, 1)
		ended[n] = end
		go func() { end <- exit{w.Wait()} }()
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, n := range c.numbers() {
		select {
		case <-ctx.Done():
		case e := <-ended[n]:
			if e.err != nil {
				found = append(found, check.Finding{Promise: check.Answers, Text: fmt.Sprintf("process %d ended with %v", n, e.err)})
			}
			continue
		}
		c.active[n].Dump()
		select {
		case <-ended[n]:
		case <-time.After(5 * time.Second):
			c.active[n].Kill()
			<-ended[n]
		}
		found = append(found, check.Finding{
			Promise: check.Progress,
			Text:    fmt.Sprintf("process %d was asked to end, and had not %v later", n, patience),
		})
	}
	return found
}
