package wire

import (
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
	// repeatsUnderWay is the same for callers that ask again. With one, more of them are refused by one answer.
	repeatsUnderWay = 1
	// fullBatch bounds what one pipeline holds, and with it how long the server is kept busy.
	fullBatch = 512
	// overdue is how long calls wait behind the batches under way before another batch may go: a hung connection delays
	// the calls behind it by this much, not by its time-out.
	overdue = 50 * time.Millisecond
)

// A laneSetup is what the lanes of a Conn have in common.
type laneSetup struct {
	sender  sender
	limit   int     // of batches under way
	bundle  *Bundle // does many plain calls; nil: there is none
	bundles bool    // plain calls may share it: all keys are on one server
	tagged  bool    // if they have the same hash tag
	virtual bool    // it is the virtual time of a test
}

// A lane takes calls to one server. A call goes out at once while nothing is under way; what
// arrives meanwhile goes out together, as one pipeline. A lane has goroutines only while calls
// are under way, and a little longer: see rest.
type lane struct {
	laneSetup
	workers workers
	sharing atomic.Bool // plain calls still share a script
	overdue time.Duration
	silent  atomic.Bool // the latest try had no answer

	repeats *lane // for callers that ask again; nil if their calls go here

	mu           sync.Mutex
	running      int // batches under way
	flying       int // calls in them
	waiting      []*Call
	overdueTimer *time.Timer // runs while calls are waiting
}

// send takes the call on its way. It does not wait. But if inline is set it may do the sending itself and return with
// the outcome: that spares a caller that could not leave anyway two changes of goroutine. A caller that may have to
// abandon a bounded call does the sending only while the server answers, and then for no longer than it waits for an
// answer.
func (l *lane) send(c *Call, inline bool) {
	l.mu.Lock()
	if l.running < l.limit && len(l.waiting) == 0 {
		l.running++
		l.flying++
		l.mu.Unlock()
		if !inline || l.silent.Load() && (c.Bounded || c.stays) {
			l.start(job{one: c})
			return
		}
		c.byCaller = true
		if c.Bounded {
			defer c.limited().clear()
		}
		if next := l.run(c); next != nil {
			l.start(job{batch: next})
		}
		return
	}
	l.waiting = append(l.waiting, c)
	if len(l.waiting) == 1 {
		if l.overdueTimer == nil {
			l.overdueTimer = time.AfterFunc(l.overdue, l.relieve)
		} else {
			l.overdueTimer.Reset(l.overdue)
		}
	}
	l.mu.Unlock()
}

// relieve lets another batch go when the batches under way take too long.
func (l *lane) relieve() {
	l.mu.Lock()
	if len(l.waiting) == 0 {
		l.mu.Unlock()
		return
	}
	l.running++
	batch := l.takeLocked()
	l.mu.Unlock()
	l.drive(batch)
}

// takeLocked takes the next batch of the waiting calls: a fair share of all calls that are here. So the batches under
// way have one size, and the server works on one of them while the client prepares the other.
func (l *lane) takeLocked() []*Call {
	batches := min(l.limit, underWay)
	share := (l.flying + len(l.waiting) + batches - 1) / batches
	n := min(len(l.waiting), share, fullBatch)
	batch := l.waiting[:n:n]
	l.waiting = l.waiting[n:]
	l.flying += n
	if len(l.waiting) == 0 {
		l.waiting = nil
		l.overdueTimer.Stop()
	} else {
		l.overdueTimer.Reset(l.overdue)
	}
	return batch
}

// run sends a call by itself, and returns the calls that have gathered meanwhile; nil if there are none.
func (l *lane) run(c *Call) (next []*Call) {
	if c.before() {
		s := newSingle(c)
		s.self[0] = s
		l.transmit(s.self[:])
		l.settle(c)
	} else {
		c.finish()
	}
	return l.next(1)
}

// do sends a call, or else a batch, and then what has gathered meanwhile.
func (l *lane) do(j job) {
	if j.one != nil {
		j.batch = l.run(j.one)
	}
	l.drive(j.batch)
}

// drive sends the batch, then the calls that have gathered meanwhile, until there are none.
func (l *lane) drive(batch []*Call) {
	for batch != nil {
		l.exchange(batch)
		runtime.Gosched() // callers with an answer ask again: let them come along
		batch = l.next(len(batch))
	}
}

// next takes the batch that follows a batch of so many calls that has come back; nil if there is none. As many as may be
// are under way as long as calls wait, so one batch follows one.
func (l *lane) next(back int) []*Call {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flying -= back
	if len(l.waiting) == 0 || l.running > l.limit {
		l.running--
		return nil
	}
	return l.takeLocked()
}

// exchange sends a batch and settles each of its calls, or sends it again.
func (l *lane) exchange(batch []*Call) {
	batch = prepared(batch)
	if len(batch) > 1 && l.sharing.Load() {
		commands := l.commands(batch, true)
		l.transmit(commands)
		if slices.ContainsFunc(commands, misplaced) {
			l.sharing.Store(false) // a node of a Cluster, addressed as if it were a single server
		}
		batch = l.settled(batch)
	}
	for len(batch) > 0 {
		l.transmit(l.commands(batch, false))
		batch = l.settled(batch)
	}
}

// settled settles the calls of a batch that were answered, and returns the others, prepared to be sent by themselves:
// calls with an answer do not wait for them.
func (l *lane) settled(batch []*Call) []*Call {
	undone := batch[:0]
	for _, c := range batch {
		if c.Err == errUndone { //nolint:errorlint // it is this value
			undone = append(undone, c)
		} else {
			l.settle(c)
		}
	}
	return remaining(undone, func(c *Call) bool {
		c.after(c.IsUnanswered())
		return c.before()
	})
}

// settle handles the outcome of a try.
func (l *lane) settle(c *Call) {
	l.note(c.Err)
	c.after(c.twice || c.Err != nil && MayCome(c.Err))
	if c.Err == nil {
		c.Err = c.Replicated.Never
	}
	if c.Err != nil {
		if pause, ok := c.resend(); ok && c.sendAfter(l, pause) {
			return
		}
	}
	c.finish()
}

// note notes whether a try was answered.
func (l *lane) note(err error) {
	if silent := err != nil && !isAnswer(err); silent != l.silent.Load() {
		l.silent.Store(silent)
	}
}

// transmit sends commands until the server knows their scripts, and hands the answers to the calls.
func (l *lane) transmit(commands []command) {
	l.sender.send(commands, byName)
	if unknown := unknownTo(commands); len(unknown) > 0 {
		// One source for each script is enough: a pipeline is executed in order. But behind a Ring or a moved slot it
		// may not be, so each command that is left over brings its own source.
		first := make(map[*Script]*redis.Cmd)
		l.sender.send(unknown, func(p command) bool {
			script, cmd := p.script(), p.cmd()
			if first[script] == nil {
				first[script] = cmd
				return true
			}
			return false
		})
		l.sender.send(unknownTo(unknown), bySource)
	}
	for _, p := range commands {
		p.answered()
	}
}

// unknownTo returns the commands with a script that the server did not know.
func unknownTo(commands []command) []command {
	var unknown []command
	for _, p := range commands {
		if err := p.Err(); err != nil && redis.HasErrorPrefix(err, "NOSCRIPT") {
			unknown = append(unknown, p)
		}
	}
	return unknown
}

// prepared has the trackers of the calls prepare their next try. It finishes the calls that must not be sent, most of
// which were abandoned before.
func prepared(batch []*Call) []*Call { return remaining(batch, (*Call).before) }

// remaining finishes the calls of a batch that must not go on, and returns the others, in the memory of the batch.
func remaining(batch []*Call, goesOn func(*Call) bool) []*Call {
	rest := batch[:0]
	for _, c := range batch {
		if goesOn(c) {
			rest = append(rest, c)
		} else {
			c.finish()
		}
	}
	return rest
}
