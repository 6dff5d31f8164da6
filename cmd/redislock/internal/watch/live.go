package watch

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cells"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/watch/term"
)

// A live is the screen of a terminal. Everything in it belongs to one goroutine, apart from paused.
type live struct {
	*data
	terminal *term.Terminal
	signals  *term.Signals
	keys     chan term.Key
	paused   atomic.Bool // the search reads it

	view   view
	colour bool
	rows   []row         // that match the filter, in order
	screen *cells.Screen // what the terminal shows; nil: that is not known
}

// live shows the screen until the user quits, or a signal ends it.
func (w *watch) live(ctx context.Context, s *sampler, terminal *term.Terminal) error {
	ctx, stop := term.Ends(ctx)
	defer stop()
	l := &live{
		data: w.newData(s), terminal: terminal, signals: term.Listen(), keys: make(chan term.Key),
		colour: os.Getenv("NO_COLOR") == "",
	}
	defer l.signals.Stop()
	l.view.sort, _ = columnNamed(w.sort)
	defer terminal.Close() //nolint:errcheck // the terminal is gone then
	if err := terminal.Enter(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	s.guard = terminal.Guard
	all.Go(func() {
		defer terminal.Guard()
		s.run(ctx, l.paused.Load)
	})
	done := make(chan struct{})
	go func() {
		defer terminal.Guard()
		terminal.Keys(done, l.keys)
	}()
	err := l.loop(ctx)
	cancel()
	close(done)
	all.Wait()
	l.awaitReader()
	return err
}

// awaitReader waits for the end of the goroutine that reads keys, so that it takes nothing that is typed later. It does not wait
// for long: a read can hang if others have changed the terminal.
func (l *live) awaitReader() {
	timeout := time.After(300 * time.Millisecond)
	for {
		select {
		case _, open := <-l.keys:
			if !open {
				return
			}
		case <-timeout:
			return
		}
	}
}

// loop takes in what happens, one thing after the other.
func (l *live) loop(ctx context.Context) error {
	look, second := time.NewTicker(l.every), time.NewTicker(time.Second)
	defer look.Stop()
	defer second.Stop()
	l.resize()
	l.lookNow()
	for {
		if err := l.draw(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return cli.Exit(cli.Interrupted, errors.New("ended by a signal"))
		case one := <-l.samples():
			if err := l.take(one); err != nil {
				return err
			}
			if !one.found || one.passed || len(l.rows) == 0 {
				l.sortAll()
			}
		case <-look.C:
			l.lookNow()
		case now := <-second.C:
			l.measure(now)
			l.sortAll()
		case key, open := <-l.keys:
			if !open {
				return errors.New("the terminal is gone")
			}
			if l.press(key); l.view.quit {
				return nil
			}
		case <-l.signals.Resized:
			l.resize()
		case <-l.signals.Stopped():
			if err := l.terminal.Suspend(l.signals); err != nil {
				return err
			}
			l.resize()
		case <-l.signals.Resumed():
			if err := l.terminal.Enter(); err != nil {
				return err
			}
			l.resize()
		}
	}
}

// samples are what was seen. While it is paused a look that is under way waits there, so that the screen stays as it is.
func (l *live) samples() <-chan sample {
	if l.view.paused {
		return nil
	}
	return l.sampler.to
}

// lookNow asks for a look at what is on the screen, unless it is paused.
func (l *live) lookNow() {
	if !l.paused.Load() {
		l.look(keysOf(l.view.shown(l.rows)))
	}
}

// sortAll makes the rows anew, and puts them in order.
func (l *live) sortAll() {
	l.refresh()
	l.arrange()
}

// arrange puts the rows in order that are there.
func (l *live) arrange() {
	l.rows = slices.Clone(matching(l.all, l.view.filter))
	order(l.rows, l.view.sort, l.view.reverse)
	l.view.follow(l.rows)
}

// press takes in a key.
func (l *live) press(key term.Key) {
	before := l.view
	l.view.press(key, l.rows)
	if l.paused.Store(l.view.paused); before.paused && !l.view.paused {
		l.lookNow()
	}
	if before.sort != l.view.sort || before.reverse != l.view.reverse || before.filter != l.view.filter {
		l.arrange()
	}
	if l.view.redraw {
		l.screen, l.view.redraw = nil, false
	}
}

// resize finds out how large the terminal is. What it shows is not known then.
func (l *live) resize() {
	l.view.width, l.view.height = l.terminal.Size()
	l.view.follow(l.rows)
	l.screen = nil
}

// draw brings the terminal up to date.
func (l *live) draw() error {
	l.status.now = time.Now()
	if l.view.paused && l.status.looked {
		l.status.now = l.status.at
	}
	f := frame{view: l.view, rows: l.rows, totals: totalsOf(l.all, l.table.missed), status: l.status, colour: l.colour}
	next := draw(&f)
	l.view.lines = f.view.lines
	_, err := l.terminal.WriteString(cells.Diff(l.screen, next))
	l.screen = next
	return err
}
