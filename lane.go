package redislock

import (
	"runtime"
	"sync"
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
	limit   int // of batches under way

	mu      sync.Mutex
	running int
	queue   []*call
	late    *time.Timer // runs while the queue is not empty
}

// send takes the call on its way. It does not wait, but if inline it may do the sending itself and
// return with the outcome there: that spares a caller who could not leave anyway two changes of
// goroutine.
func (l *lane) send(c *call, inline bool) {
	l.mu.Lock()
	if l.running < l.limit && len(l.queue) == 0 {
		l.running++
		l.mu.Unlock()
		one := [1]*call{c}
		if !inline {
			go l.drive(one[:])
			return
		}
		l.exchange(one[:])
		if batch := l.next(); batch != nil {
			go l.drive(batch)
		}
		return
	}
	l.queue = append(l.queue, c)
	if len(l.queue) == 1 {
		if l.late == nil {
			l.late = time.AfterFunc(overdue, l.relieve)
		} else {
			l.late.Reset(overdue)
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

// takeLocked takes the next batch out of the queue.
func (l *lane) takeLocked() []*call {
	n := min(len(l.queue), fullBatch)
	batch := l.queue[:n:n]
	l.queue = l.queue[n:]
	if len(l.queue) == 0 {
		l.queue = nil
		l.late.Stop()
	} else {
		l.late.Reset(overdue)
	}
	return batch
}

// drive sends the batch, then whatever has gathered meanwhile, until nothing has.
func (l *lane) drive(batch []*call) {
	for batch != nil {
		l.exchange(batch)
		runtime.Gosched() // those who have their answer ask again: let them come along
		batch = l.next()
	}
}

// next takes the batch that follows one that has come back; nil if there is none.
func (l *lane) next() []*call {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) == 0 || l.running > l.limit {
		l.running--
		return nil
	}
	return l.takeLocked()
}

// exchange sends a batch and settles each of its calls, or sends it again.
func (l *lane) exchange(batch []*call) {
	batch = present(batch)
	l.courier.deliver(batch, byName)
	var unheard []*call
	for _, c := range batch {
		if isNoScript(c.Err()) {
			unheard = append(unheard, c)
		}
	}
	if len(unheard) > 0 {
		// One source for each script is enough, in a pipeline they are executed in order; but
		// behind a Ring or a moved slot they may not be, so what is left over brings its own.
		first := make(map[*script]*call)
		for _, c := range unheard {
			if first[c.script] == nil {
				first[c.script] = c
			}
		}
		l.courier.deliver(unheard, func(c *call) bool { return first[c.script] == c })
		var still []*call
		for _, c := range unheard {
			if isNoScript(c.Err()) {
				still = append(still, c)
			}
		}
		l.courier.deliver(still, bySource)
	}
	for _, c := range batch {
		if c.Err() != nil && c.again() {
			time.AfterFunc(tryPause(c.tries), func() { l.send(c, false) })
			continue
		}
		c.finish()
	}
}

// present drops the calls that were left before they were sent: they are settled as never sent.
func present(batch []*call) []*call {
	for i, c := range batch {
		if c.fate.Load() != left {
			continue
		}
		here := append([]*call(nil), batch[:i]...)
		for _, c := range batch[i:] {
			if c.fate.Load() != left {
				here = append(here, c)
				continue
			}
			c.Cmd = redis.NewCmd(c.ctx)
			c.SetErr(errNotSent)
			c.finish()
		}
		return here
	}
	return batch
}
