// Package measure has workers play a load of locks, and says what they had of it: waits, commands, fairness. The demo shows that,
// and tune compares policies by it.
package measure

import (
	"context"
	"time"

	"github.com/seed-14de3678/redislock/internal/turns"
)

// A Part is what the workers of one process, or all of them, had in some time. Of the lead of a slice nothing counts but waits.
type Part struct {
	turns.Shares
	Commands  int64 // that were sent
	Length    time.Duration
	Late      time.Duration // see lateness
	Watched   time.Duration
	ServerCPU time.Duration // that the server has used, which only who asks it can enter
}

// Join enters what another process has seen of the same time.
func (p *Part) Join(other Part) {
	p.Shares.Join(other.Shares)
	p.sum(other)
	p.Length = max(p.Length, other.Length)
}

// Add enters another time of the same workers.
func (p *Part) Add(other Part) {
	p.Shares.Add(other.Shares)
	p.sum(other)
	p.Length += other.Length
}

func (p *Part) sum(other Part) {
	p.Commands += other.Commands
	p.Late += other.Late
	p.Watched += other.Watched
	p.ServerCPU += other.ServerCPU
}

// PerSecond is how many locks were had in a second.
func (p *Part) PerSecond() float64 { return float64(p.Total()) / max(p.Length, 1).Seconds() }

// CommandsEach is how many commands were sent for each lock.
func (p *Part) CommandsEach() float64 { return float64(p.Commands) / float64(max(p.Total(), 1)) }

// CPUEach is how much time the server has used for each lock.
func (p *Part) CPUEach() time.Duration { return p.ServerCPU / time.Duration(max(p.Total(), 1)) }

const (
	probePause = 5 * time.Millisecond
	punctual   = time.Millisecond // by how much every timer is late
)

// lateness finds out whether this process gets a processor when it wants one. Until ctx ends it sleeps for a moment again and again.
// It returns for how long in all it was late when it woke up, of the time that it has watched.
func lateness(ctx context.Context, sleep func(context.Context, time.Duration) bool) (late, watched time.Duration) {
	for began := time.Now(); sleep(ctx, probePause); began = time.Now() {
		slept := time.Since(began)
		watched += slept
		late += max(0, slept-probePause-punctual)
	}
	return late, watched
}
