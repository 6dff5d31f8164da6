package watch

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/watch/term"
)

// A live is the screen of a terminal. Everything in it belongs to one goroutine.
type live struct {
	*watch
	terminal *term.Terminal
	view     view
	colour   bool
	shown    string // the frame that the terminal shows; empty: that is not known
}

// live shows the screen until the user quits, or a signal ends it.
func (w *watch) live(ctx context.Context, terminal *term.Terminal) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	signals, keys := term.Listen(), make(chan string)
	defer terminal.Leave() //nolint:errcheck // the terminal is gone then
	if err := terminal.Enter(); err != nil {
		return err
	}
	w.sampler.start(ctx)
	go terminal.Keys(ctx, keys)
	l := &live{watch: w, terminal: terminal, colour: os.Getenv("NO_COLOR") == ""}
	return l.loop(ctx, signals, keys)
}

// loop takes in what happens, one thing after the other.
func (l *live) loop(ctx context.Context, signals <-chan os.Signal, keys <-chan string) error {
	look := time.NewTicker(l.every)
	defer look.Stop()
	err := l.resize()
	l.lookNow()
	for err == nil {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case one := <-l.samples():
			err = l.taken(one)
		case <-look.C:
			l.lookNow()
		case key, open := <-keys:
			if !open {
				return errors.New("the terminal is gone")
			}
			if l.press(key); l.view.quit {
				return nil
			}
			err = l.draw()
		case sig := <-signals:
			if err = l.terminal.Heed(sig); err == nil {
				err = l.resize()
			}
		}
	}
	return err
}

// samples are what was seen. While it is paused a look that is under way waits there, so that the screen stays as it is.
func (l *live) samples() <-chan sample {
	if l.view.paused {
		return nil
	}
	return l.sampler.to
}

// taken takes in a sample. What the search finds is shown with the next look, as it comes in small parts; but the first at once.
func (l *live) taken(one sample) error {
	if err := l.take(one); err != nil {
		return err
	}
	if one.found && !one.passed && len(l.rows) > 0 {
		return nil
	}
	l.sortRows(l.view.sort)
	return l.draw()
}

// lookNow asks for a look at what is on the screen, unless it is paused.
func (l *live) lookNow() {
	if !l.view.paused {
		l.look(l.view.shown(l.rows))
	}
}

func (l *live) press(key string) {
	before := l.view
	l.view.press(key, l.rows)
	if l.sampler.paused.Store(l.view.paused); before.paused && !l.view.paused {
		l.lookNow()
	}
	if before.sort != l.view.sort {
		l.sortRows(l.view.sort)
	}
}

// resize finds out how large the terminal is, and draws everything: what it shows is not known then.
func (l *live) resize() error {
	l.view.width, l.view.height = l.terminal.Size()
	l.shown = ""
	return l.draw()
}

// draw brings the terminal up to date, if it shows something else.
func (l *live) draw() error {
	l.view.follow(l.rows)
	next := draw(frame{l.view, l.rows, totals(l.rows, l.table.missed), l.status, l.colour})
	if next == l.shown {
		return nil
	}
	l.shown = next
	return l.terminal.Show(next)
}
