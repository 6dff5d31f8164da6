package tune

import (
	"time"

	"github.com/seed-14de3678/redislock/internal/turns"
)

// What the command and the processes of its load say to each other: one JSON object a line. A process is told a setup, then one
// order after another; it answers to each with a part. The end of what it reads is the end of the process.

// A setup says what a process plays.
type setup struct {
	URL      string // of the server; not among the arguments, where others would see its password
	Prefix   string
	Pattern  string   // of the keys
	Mark     string   // the metadata of every lock
	Policies []string // as they are written
	Load     load     // its Workers are those of this process
	First    int      // the number of the first of them
	TTL      time.Duration
}

// An order is one slice.
type order struct {
	Policy int
	Round  int
	Lead   time.Duration // at its beginning, in which only waits count
	Length time.Duration // of all of it
}

// A part is what one process, or all of them, has seen of a slice.
type part struct {
	Acquired []int // by worker; these and the next do not count in the lead
	GaveUp   int   // how often the policy, or Wait, ended before there was a lock
	Commands int64 // that were sent
	Length   time.Duration
	Waits    turns.Waits   // of every Obtain
	Lost     int           // locks that were gone when they were to be released
	CPU      time.Duration // that the process has used
	Late     time.Duration // see lateness
	Watched  time.Duration

	serverCPU time.Duration // that the server has used, which no process knows

	Error  string // why there is no more; empty: all went well
	Status int    // the exit status for it; 0: none of its own
}

// join enters what another process has seen of the same slice: its workers come behind those that are there.
func (p *part) join(other part) {
	p.Acquired = append(p.Acquired, other.Acquired...)
	p.sum(other)
	p.Length = max(p.Length, other.Length)
}

// add enters another slice of the same workers.
func (p *part) add(other part) {
	if p.Acquired == nil {
		p.Acquired = make([]int, len(other.Acquired))
	}
	for i, n := range other.Acquired {
		p.Acquired[i] += n
	}
	p.sum(other)
	p.Length += other.Length
}

func (p *part) sum(other part) {
	p.GaveUp += other.GaveUp
	p.Lost += other.Lost
	p.Waits.Join(other.Waits)
	p.Commands += other.Commands
	p.CPU += other.CPU
	p.Late += other.Late
	p.Watched += other.Watched
	p.serverCPU += other.serverCPU
}

// acquired is how many locks all workers had.
func (p *part) acquired() (n int) {
	for _, of := range p.Acquired {
		n += of
	}
	return n
}
