package run

import (
	"time"

	"github.com/seed-14de3678/redislock/internal/clock"
)

// A countdown says when the supervisor ends the group of the command: SIGTERM shortly before the lease ends, or at once
// if the lock is lost or redislock is gone; SIGKILL when the grace is over, and at the end of the lease at the latest.
// So no process of the group runs when the next holder may have the keys.
//
// Its moments have the clock that all processes share in the place of the wall clock: on Linux that goes on while the
// machine sleeps, and cannot be set.
type countdown struct {
	grace  time.Duration // between SIGTERM and SIGKILL
	margin time.Duration // before the end of the lease SIGTERM is sent
	due    clock.Moment  // the end of the lease
	began  clock.Moment  // when the group got SIGTERM; zero: it did not
}

func newCountdown(ttl, grace time.Duration) *countdown {
	return &countdown{grace: grace, margin: min(grace, ttl/4)}
}

// An order is what is to be done to the group.
type order int

const (
	nothing order = iota
	terminate
	kill
)

// now reads the two clocks.
func now() clock.Moment {
	return clock.Moment{Mono: time.Since(clock.ProcessStart), Wall: sharedClock()}
}

// renewed takes in the end of the lease, as redislock has said it. Once the group is being ended that goes on.
func (c *countdown) renewed(m message, at clock.Moment) {
	c.due = clock.Moment{Mono: at.Mono + m.Left, Wall: m.Deadline}
}

// begin has the group be ended, and reports whether it was not before.
func (c *countdown) begin(at clock.Moment) bool {
	if c.began != (clock.Moment{}) {
		return false
	}
	c.began = at
	return true
}

// next returns what is to be done, or for how long there is nothing to do.
func (c *countdown) next(at clock.Moment) (order, time.Duration) {
	if c.began == (clock.Moment{}) {
		if left := -at.Since(c.due.Add(-c.margin)); left > 0 {
			return nothing, left
		}
		return terminate, 0
	}
	if left := -at.Since(c.began.Add(c.grace).Earlier(c.due)); left > 0 {
		return nothing, left
	}
	return kill, 0
}
