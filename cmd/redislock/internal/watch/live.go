package watch

import (
	"context"
	"errors"
	"os"
	"slices"
	"time"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/watch/term"
)

// A live is the screen of a terminal. Everything in it belongs to one goroutine.
type live struct {
	*watch
	terminal *term.Terminal
	signals  <-chan os.Signal
	keys     chan term.Key
	view     view
	colour   bool
	rows     []row  // that match the filter, in order
	shown    string // the frame that the terminal shows; empty: that is not known
}

// live shows the screen until the user quits, or a signal ends it.
func (w *watch) live(ctx context.Context, terminal *term.Terminal) error {
	ctx, stop := term.Ends(ctx)
	defer stop()
	l := &live{
		watch: w, terminal: terminal, signals: term.Listen(), keys: make(chan term.Key),
		colour: os.Getenv("NO_COLOR") == "",
	}
	l.view.sort, _ = columnNamed(w.sort)
	defer terminal.Leave() //nolint:errcheck // the terminal is gone then
	if err := terminal.Enter(); err != nil {
		return err
	}
	w.sampler.start(ctx, terminal.Guard)
	done := make(chan struct{})
	defer close(done)
	go terminal.Keys(done, l.keys)
	return l.loop(ctx)
}

// loop takes in what happens, one thing after the other.
func (l *live) loop(ctx context.Context) error {
	look, second := time.NewTicker(l.every), time.NewTicker(time.Second)
	defer look.Stop()
	defer second.Stop()
	err := l.resize()
	l.lookNow()
	for err == nil {
		select {
		case <-ctx.Done():
			return cli.Exit(cli.Interrupted, errors.New("ended by a signal"))
		case one := <-l.samples():
			err = l.taken(one)
		case <-look.C:
			l.lookNow()
		case now := <-second.C:
			l.measure(now)
			l.sortAll()
			err = l.draw()
		case key, open := <-l.keys:
			if !open {
				return errors.New("the terminal is gone")
			}
			if l.press(key); l.view.quit {
				return nil
			}
			err = l.draw()
		case sig := <-l.signals:
			if err = l.terminal.Heed(sig, l.signals); err == nil {
				err = l.resize()
			}
		}
	}
	return err
}

// taken takes in a sample. What the search finds is shown with the next look, as it comes in small parts; but the first at once.
func (l *live) taken(one sample) error {
	if err := l.take(one); err != nil {
		return err
	}
	if one.found && !one.passed && len(l.rows) > 0 {
		return nil
	}
	l.sortAll()
	return l.draw()
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
	if !l.view.paused {
		l.look(l.view.shown(l.rows))
	}
}

// sortAll makes the rows anew, and puts them in order.
func (l *live) sortAll() {
	l.all = l.table.rows()
	l.arrange()
}

// arrange puts the rows in order that are there.
func (l *live) arrange() {
	l.rows = slices.Clone(matching(l.all, l.view.filter))
	order(l.rows, l.view.sort, l.view.reverse)
	l.view.follow(l.rows)
}

func (l *live) press(key term.Key) {
	before := l.view
	l.view.press(key, l.rows)
	if l.sampler.paused.Store(l.view.paused); before.paused && !l.view.paused {
		l.lookNow()
	}
	if before.sort != l.view.sort || before.reverse != l.view.reverse || before.filter != l.view.filter {
		l.arrange()
	}
	if key == term.Redraw {
		l.shown = ""
	}
}

// resize finds out how large the terminal is, and draws everything: what it shows is not known then.
func (l *live) resize() error {
	l.view.width, l.view.height = l.terminal.Size()
	l.view.follow(l.rows)
	l.shown = ""
	return l.draw()
}

// draw brings the terminal up to date, if it shows something else.
func (l *live) draw() error {
	l.status.now = time.Now()
	if l.view.paused && !l.status.at.IsZero() {
		l.status.now = l.status.at
	}
	f := frame{view: l.view, rows: l.rows, totals: totals(l.all, l.table.missed), status: l.status, colour: l.colour}
	next := draw(&f)
	l.view.lines = f.view.lines
	if next == l.shown {
		return nil
	}
	l.shown = next
	return l.terminal.Show(next)
}
