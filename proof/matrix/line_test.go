package matrix_test

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/seed-14de3678/redislock"
)

// lineRows are the late requests of waiters that stand in line. They need a server that publishes messages.
func lineRows() []*row {
	var rows []*row
	for _, size := range []int{3, 1} {
		for _, generated := range []bool{false, true} {
			add := func(r row) {
				r.name, r.size, r.generated = r.name+suffixOf(size, generated), size, generated
				r.setup, r.line = (*cell).otherWrites, true
				if generated && r.scripts == "release" {
					r.harmless = "it takes who has left the line out of it; otherwise " + freesItsOwn
				}
				rows = append(rows, &r)
			}
			add(row{name: "enter line", code: 'e', run: lateEntry, scripts: "rw", afterwards: (*cell).otherGoes})
			add(row{name: "enter line, key stays held", code: 'k', run: lateEntry, scripts: "rw", nexts: "-q"})
			add(row{name: "give up in line", code: 'g', run: lateGiveUp, scripts: "release", afterwards: (*cell).otherGoes})
			add(row{name: "give up in line, key stays held", code: 'v', run: lateGiveUp, scripts: "release", nexts: "-q"})
		}
	}
	return rows
}

// lineOptions are the options of a caller that stands in line.
func (c *cell) lineOptions() *redislock.Options {
	opt := c.options()
	opt.Queue, opt.RetryStrategy = true, nil
	return opt
}

// lateEntry stands in line, until the key is free or, if it stays held, for a moment.
func lateEntry(ctx context.Context, c *cell) error {
	if c.row.nexts != "" {
		if c.way == 'R' {
			var stop func()
			ctx, stop = c.endsWhen(ctx, c.stands)
			defer stop()
		}
		return c.takes(c.by().Obtain(ctx, c.keys, firstTTL, c.lineOptions()))
	}
	if c.way == 'R' {
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			for range 2000 {
				if c.stands() {
					break
				}
				time.Sleep(5 * time.Millisecond)
			}
			c.otherGoes()
		}()
		defer func() { <-gone }()
	}
	return c.takes(c.by().Obtain(ctx, c.keys, firstTTL, c.lineOptions()))
}

// lateGiveUp stands in line for a moment.
func lateGiveUp(ctx context.Context, c *cell) error {
	brief, stop := c.endsWhen(ctx, c.stands)
	defer stop()
	before := c.network.answeredOf("release")
	lock, err := c.by().Obtain(brief, c.keys, firstTTL, c.lineOptions())
	if err == nil {
		_ = c.takes(lock, nil)
		return errors.New("it was not in line")
	}
	for range 400 {
		if kept, _ := c.network.isKept(); kept && (c.way != 'R' || c.network.answeredOf("release") > before) {
			return nil
		}
		c.sleep(5 * time.Millisecond)
	}
	c.network.void("nobody has left the line")
	return nil
}

// stands reports whether somebody stands in line for the first key.
func (c *cell) stands() bool { return len(c.eye.look(c.keys[0]).line) > 0 }

// endsWhen derives a context that is cancelled as soon as something is so.
func (c *cell) endsWhen(ctx context.Context, is func() bool) (ending context.Context, stop func()) {
	ending, cancel := context.WithCancel(ctx)
	over := make(chan struct{})
	go func() {
		defer close(over)
		for ending.Err() == nil && !is() {
			time.Sleep(2 * time.Millisecond)
		}
		cancel()
	}()
	return ending, func() { cancel(); <-over }
}

// otherWrites has another owner write the first key.
func (c *cell) otherWrites() {
	lock, err := c.second().Obtain(c.t.Context(), c.keys[:1], time.Hour, nil)
	if err != nil {
		c.fault("another cannot write: %v", err)
		return
	}
	c.reader = lock
}

// The operations that may follow while the key stays held.
func init() {
	operations['-'] = &operation{name: "time passes", run: func(_ context.Context, c *cell) error {
		c.sleep(300 * time.Millisecond)
		return nil
	}, next: true}
	operations['q'] = &operation{name: "Obtain in line, for a moment", run: func(ctx context.Context, c *cell) error {
		brief, cancel := context.WithTimeout(ctx, c.brief)
		defer cancel()
		lock, err := c.by().Obtain(brief, c.keys, firstTTL, c.lineOptions())
		if err == nil {
			_ = c.takes(lock, nil)
			return errors.New("it is granted, and another holds the key")
		}
		if !errors.Is(err, redislock.ErrNotObtained) && !errors.Is(err, context.DeadlineExceeded) { // a moment may be too short
			return err
		}
		return nil
	}, next: true, frees: true}
}

// bears reports whether a real server bears the cell: nothing in it waits for a renewal, or
// is to be done in the moment in which one waits in its Client without asking.
func (id cellID) bears() bool {
	return !id.row.local && id.row.code != 'n' && !strings.Contains(id.follows, "n")
}
