package redislock

import (
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// underWay is how many batches of a lane are under way at a time. With one, the server idles
	// while a batch is on the wire; with more, batches shrink and nothing is gained.
	underWay = 2
	// fullBatch bounds what one pipeline holds, and with it how long the server is kept busy.
	fullBatch = 512
	// overdue is how long calls wait behind batches under way before one more is let go: a hung
	// connection delays those behind it by this much, not by its time-out.
	overdue = 50 * time.Millisecond
)

// A lane takes calls to one server. A call goes out at once while nothing is under way; what
// arrives meanwhile goes out together, as one pipeline. A lane has goroutines only while calls
// are under way.
type lane struct {
	courier courier
	limit   int         // of batches under way
	bundles atomic.Bool // plain calls may share a script: all keys are on one server
	tagged  bool        // if they have the same hash tag
	overdue time.Duration
	rushes  sync.Pool   // of *rush
	ailing  atomic.Bool // the latest try had no answer

	mu      sync.Mutex
	running int // batches under way
	flying  int // calls in them
	queue   []*call
	late    *time.Timer // runs while the queue is not empty
}

// send takes the call on its way. It does not wait, but if inline it may do the sending itself and
// return with the outcome there: that spares a caller who could not leave anyway two changes of
// goroutine. A caller who may have to leave a bounded call does so only as long as the server answers,
// and then no longer than it waits for an answer.
func (l *lane) send(c *call, inline bool) {
	l.mu.Lock()
	if l.running < l.limit && len(l.queue) == 0 {
		l.running++
		l.flying++
		l.mu.Unlock()
		switch {
		case inline && !c.bounded:
			l.run(c)
		case inline && !l.ailing.Load():
			r := l.newRush()
			c.rush = r
			l.run(c)
			l.endRush(r)
		default:
			go l.run(c)
		}
		return
	}
	l.queue = append(l.queue, c)
	if len(l.queue) == 1 {
		if l.late == nil {
			l.late = time.AfterFunc(l.overdue, l.relieve)
		} else {
			l.late.Reset(l.overdue)
		}
	}
	l.mu.Unlock()
}

// relieve lets a further batch go when those under way take too long.
func (l *lane) relieve() {
	l.mu.Lock()
	if len(l.queue) == 0 {
		l.mu.Unlock()
		return
	}
	l.running++
	batch := l.takeLocked()
	l.mu.Unlock()
	l.drive(batch)
}

// takeLocked takes the next batch out of the queue: a fair share of all calls that are here, so
// that the batches under way are of one size, and the server works on one of them while the
// client prepares the other.
func (l *lane) takeLocked() []*call {
	share := (l.flying + len(l.queue) + underWay - 1) / underWay
	n := min(len(l.queue), share, fullBatch)
	batch := l.queue[:n:n]
	l.queue = l.queue[n:]
	l.flying += n
	if len(l.queue) == 0 {
		l.queue = nil
		l.late.Stop()
	} else {
		l.late.Reset(l.overdue)
	}
	return batch
}

// run sends a call by itself. What has gathered meanwhile is left to another goroutine: this one may
// be the caller's.
func (l *lane) run(c *call) {
	one := [1]*call{c}
	l.exchange(one[:])
	if batch := l.next(1); batch != nil {
		go l.drive(batch)
	}
}

// drive sends the batch, then whatever has gathered meanwhile, until nothing has.
func (l *lane) drive(batch []*call) {
	for batch != nil {
		l.exchange(batch)
		runtime.Gosched() // those who have their answer ask again: let them come along
		batch = l.next(len(batch))
	}
}

// next takes the batch that follows one of so many calls that has come back; nil if there is none.
func (l *lane) next(landed int) []*call {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flying -= landed
	if len(l.queue) == 0 || l.running > l.limit {
		l.running--
		return nil
	}
	batch := l.takeLocked()
	if len(l.queue) > 0 && l.running < l.limit {
		l.running++
		go l.drive(l.takeLocked())
	}
	return batch
}

// exchange sends a batch and settles each of its calls, or sends it again.
func (l *lane) exchange(batch []*call) {
	batch = stamped(present(batch))
	if len(batch) > 1 && l.bundles.Load() {
		parcels := pack(batch, l.tagged)
		l.transmit(parcels)
		if slices.ContainsFunc(parcels, misplaced) {
			l.bundles.Store(false) // a node of a Cluster, addressed as if it were a server by itself
		}
		for _, c := range batch {
			if c.err == errNotPlain { //nolint:errorlint // it is this value
				c.owner.settle(c, false, c.isUnsure())
				c.owner.stamp(c)
			}
		}
		l.transmit(singles(batch, true))
	} else {
		l.transmit(singles(batch, false))
	}
	for _, c := range batch {
		l.note(c.err)
		c.answers()
		if c.err == nil {
			c.err = c.ack.never
		}
		if c.err != nil {
			if pause, ok := c.again(); ok && c.rest(l, pause) {
				continue
			}
		}
		c.finish()
	}
}

// note takes note whether a try was answered.
func (l *lane) note(err error) {
	_, answer := errors.AsType[redis.Error](err)
	if ailing := err != nil && !answer; ailing != l.ailing.Load() {
		l.ailing.Store(ailing)
	}
}

// transmit sends parcels until the server knows their scripts, and unpacks the answers.
func (l *lane) transmit(parcels []parcel) {
	l.courier.deliver(parcels, byName)
	if unheard := unknownTo(parcels); len(unheard) > 0 {
		// One source for each script is enough, in a pipeline they are executed in order; but
		// behind a Ring or a moved slot they may not be, so what is left over brings its own.
		first := make(map[*script]*redis.Cmd)
		l.courier.deliver(unheard, func(p parcel) bool {
			script, cmd := p.contents().script, *p.command()
			if first[script] == nil {
				first[script] = cmd
				return true
			}
			return false
		})
		l.courier.deliver(unknownTo(unheard), bySource)
	}
	for _, p := range parcels {
		p.unpack()
	}
}

// unknownTo returns the parcels whose script the server did not know.
func unknownTo(parcels []parcel) []parcel {
	var unheard []parcel
	for _, p := range parcels {
		if err := p.Err(); err != nil && redis.HasErrorPrefix(err, "NOSCRIPT") {
			unheard = append(unheard, p)
		}
	}
	return unheard
}

// stamped has the calls numbered, and drops those that are not to be sent any more.
func stamped(batch []*call) []*call {
	for _, c := range batch {
		c.owner.stamp(c)
	}
	withdrawn := func(c *call) bool { return c.withdrawn }
	if !slices.ContainsFunc(batch, withdrawn) {
		return batch
	}
	batch = slices.Clone(batch)
	for _, c := range batch {
		if c.withdrawn {
			c.reply, c.err = int64(overtaken), nil
			c.owner.settle(c, false, false)
			c.finish()
		}
	}
	return slices.DeleteFunc(batch, withdrawn)
}

// present drops the calls that were left before they were sent: they are settled as never sent.
func present(batch []*call) []*call {
	for _, c := range batch {
		if c.fate.Load() == left {
			here := make([]*call, 0, len(batch))
			for _, c := range batch {
				if c.fate.Load() != left {
					here = append(here, c)
					continue
				}
				c.err = errNotSent
				c.owner.settle(c, false, false)
				c.finish()
			}
			return here
		}
	}
	return batch
}
