package redislock

import (
	"context"
	"errors"
	"strings"
	"time"
)

// matrixLineRows are the strays of those who stand in line, which needs a server that tells them.
func matrixLineRows() []*matrixRow {
	var rows []*matrixRow
	for _, size := range []int{3, 1} {
		for _, generated := range []bool{false, true} {
			add := func(r matrixRow) {
				r.name, r.size, r.generated = r.name+matrixSuffix(size, generated), size, generated
				r.setup, r.line = (*matrixCell).otherWrites, true
				if generated && r.scripts == "release" {
					r.harmless = "it takes who has left the line out of it; otherwise " + matrixFreesItsOwn
				}
				rows = append(rows, &r)
			}
			add(matrixRow{name: "enter line", code: 'e', run: enterStray, scripts: "rw", afterwards: (*matrixCell).otherGoes})
			add(matrixRow{name: "enter line, key stays held", code: 'k', run: enterStray, scripts: "rw", nexts: "-q"})
			add(matrixRow{name: "give up in line", code: 'g', run: giveUpStray, scripts: "release", afterwards: (*matrixCell).otherGoes})
			add(matrixRow{name: "give up in line, key stays held", code: 'v', run: giveUpStray, scripts: "release", nexts: "-q"})
		}
	}
	return rows
}

// queueing are the options of who stands in line.
func (c *matrixCell) queueing() *Options {
	opt := c.options()
	opt.Queue, opt.RetryStrategy = true, nil
	return opt
}

// enterStray stands in line, until the key is free or, if it stays held, for a moment.
func enterStray(ctx context.Context, c *matrixCell) error {
	if c.row.nexts != "" {
		if c.way == 'R' {
			var stop func()
			ctx, stop = c.endsWhen(ctx, c.stands)
			defer stop()
		}
		return c.takes(c.main.Obtain(ctx, c.keys, matrixTTL, c.queueing()))
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
	return c.takes(c.main.Obtain(ctx, c.keys, matrixTTL, c.queueing()))
}

// giveUpStray stands in line for a moment.
func giveUpStray(ctx context.Context, c *matrixCell) error {
	brief, stop := c.endsWhen(ctx, c.stands)
	defer stop()
	before := c.wire.answeredOf("release")
	lock, err := c.main.Obtain(brief, c.keys, matrixTTL, c.queueing())
	if err == nil {
		_ = c.takes(lock, nil)
		return errors.New("it was not in line")
	}
	for range 400 {
		if kept, _ := c.wire.isKept(); kept && (c.way != 'R' || c.wire.answeredOf("release") > before) {
			return nil
		}
		c.sleep(5 * time.Millisecond)
	}
	c.wire.void("nobody has left the line")
	return nil
}

// stands reports whether somebody stands in line for the first key.
func (c *matrixCell) stands() bool { return len(c.eye.look(c.keys[0]).line) > 0 }

// endsWhen derives a context that is cancelled as soon as something is so.
func (c *matrixCell) endsWhen(ctx context.Context, is func() bool) (ending context.Context, stop func()) {
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
func (c *matrixCell) otherWrites() {
	lock, err := c.second().Obtain(c.t.Context(), c.keys[:1], time.Hour, nil)
	if err != nil {
		c.fault("another cannot write: %v", err)
		return
	}
	c.reader = lock
}

// The operations that may follow while the key stays held.
func init() {
	matrixOperations['-'] = &matrixOperation{name: "time passes", run: func(_ context.Context, c *matrixCell) error {
		c.sleep(300 * time.Millisecond)
		return nil
	}, next: true}
	matrixOperations['q'] = &matrixOperation{name: "Obtain in line, for a moment", run: func(ctx context.Context, c *matrixCell) error {
		brief, cancel := context.WithTimeout(ctx, c.brief)
		defer cancel()
		lock, err := c.main.Obtain(brief, c.keys, matrixTTL, c.queueing())
		if err == nil {
			_ = c.takes(lock, nil)
			return errors.New("it is granted, and another holds the key")
		}
		if !errors.Is(err, ErrNotObtained) && !errors.Is(err, context.DeadlineExceeded) { // a moment may be too short
			return err
		}
		return nil
	}, next: true, frees: true}
}

// bears reports whether a real server bears the cell: nothing in it waits for a renewal.
func (id matrixID) bears() bool { return id.row.code != 'n' && !strings.Contains(id.follows, "n") }
