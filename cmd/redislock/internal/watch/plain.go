package watch

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cells"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
)

// A plain is one table after the other, or one object after the other.
type plain struct {
	*watch
	to       cli.Streams
	progress *cli.Screen
	written  int       // tables
	last     time.Time // of the samples that were written
	told     bool      // that the server is away
	began    time.Time
}

// plain writes until everything that was asked for is written, or a signal ends it.
func (w *watch) plain(ctx context.Context, to cli.Streams) error {
	p := &plain{watch: w, to: to, progress: cli.NewScreen(to.Err), began: time.Now()}
	defer p.progress.Settle()
	w.sampler.start(ctx)
	return p.loop(ctx)
}

// loop waits for the first search to end, and then looks again and again.
func (p *plain) loop(ctx context.Context) error {
	look := time.NewTicker(p.every)
	defer look.Stop()
	p.look(nil)
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-look.C:
			p.look(nil)
		case one := <-p.sampler.to:
			if err := p.take(one); err != nil {
				return err
			}
			if err := p.tell(one); err != nil {
				return err
			}
			if p.count > 0 && p.written >= p.count {
				return nil
			}
			if p.written == 0 && one.passed {
				p.look(nil)
			}
		}
	}
}

// tell writes what a sample has changed.
func (p *plain) tell(one sample) error {
	switch lost := p.status.away; {
	case lost != nil && !p.told:
		p.told = true
		p.progress.Line("redislock watch: %s, trying again", cells.Short(p.status.server+" is away: "+oneLine(lost), 1000))
	case lost == nil && p.told:
		p.told = false
		p.progress.Line("redislock watch: %s is back", p.status.server)
	case p.status.searching && time.Since(p.began) > cli.LinePause:
		p.progress.Tell("searching, %.0f %%, %d locks", 100*p.status.part, len(p.table.tracks))
	}
	if partly := one.found || one.err != nil || p.status.searching; partly {
		return nil
	}
	p.progress.Settle()
	p.sortRows(0)
	if p.written++; *p.json {
		return p.writeJSON(one.at)
	}
	return p.writeTable(one.at)
}

// writeTable writes the rows, with the time above them. The last column says what there is to say of a key.
func (p *plain) writeTable(at time.Time) error {
	var b bytes.Buffer
	if p.written > 1 {
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "%s  %s\n", at.UTC().Format("2006-01-02T15:04:05Z"), totals(p.rows, p.table.missed))
	fields := fit(0, p.rows)
	write := func(last string, text func(column) string) {
		for _, f := range fields {
			b.WriteString(cells.Fit(text(f), f.width, f.right) + "  ")
		}
		b.WriteString(last)
		b.Truncate(len(bytes.TrimRight(b.Bytes(), " ")))
		b.WriteString("\n")
	}
	write("NOTE", func(f column) string { return f.title })
	for _, r := range p.rows {
		write(note(r), func(f column) string { return f.text(r) })
	}
	_, err := p.to.Out.Write(b.Bytes())
	return err
}

func note(r row) string {
	text := r.why
	if r.level != fine {
		text = r.level.String() + ": " + text
	}
	return cells.Short(text, 1000)
}

// A seen is a look at one key, as JSON: what ls says of it, but for the line, and more.
type seen struct {
	Time *string `json:"time"`
	cli.KeyObject
	Line     *struct{} `json:"line,omitempty"` // it takes the place of the one in KeyObject, and is left out
	Gone     int       `json:"gone"`           // in line, and dead
	Held     int64     `json:"held_ms"`
	Exactly  bool      `json:"held_exactly"` // else it may be more
	Longest  int64     `json:"longest_wait_ms"`
	HandOffs *float64  `json:"hand_offs_per_second"` // at least; null: not known yet
	Level    string    `json:"level"`                // "", "slow" or "stuck"
	Note     string    `json:"note"`
}

// writeJSON writes every row that was seen since it was called before.
func (p *plain) writeJSON(at time.Time) error {
	var b bytes.Buffer
	for _, r := range p.rows {
		if !r.known() || !r.at.After(p.last) {
			continue
		}
		if err := cli.WriteJSON(&b, seenOf(r, p.sampler.looks.Prefix)); err != nil {
			return err
		}
	}
	p.last = at
	_, err := p.to.Out.Write(b.Bytes())
	return err
}

func seenOf(r row, prefix string) seen {
	s := seen{
		Time: cli.Moment(r.at), KeyObject: cli.KeyObjectOf(r.KeyState, prefix), Gone: r.gone, Held: r.held.Milliseconds(), Exactly: r.exactly,
		Longest: r.longest.Milliseconds(), Level: r.level.String(), Note: r.why,
	}
	if r.hasRate {
		s.HandOffs = &r.rate
	}
	return s
}
