package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
)

const readers = 3

// A turn is when somebody asked for the key, and held it.
type turn struct {
	name               string
	asked, from, until time.Duration // since the play began
}

// A reading is one play of readers, writer and late reader over one key.
type reading struct {
	*stage
	key     string
	began   time.Time
	writing chan struct{} // closed when the writer is about to ask
	refused chan struct{} // closed when the late reader has had its first answer
	refusal error         // that answer; read after refused
	turns   []turn        // the readers', the writer's, the late reader's: each writes its own
}

// playReaders has a writer get its turn although readers keep coming.
func playReaders(ctx context.Context, s *stage) (verdict, error) {
	r := &reading{
		stage: s, key: s.key("report"), began: time.Now(),
		writing: make(chan struct{}), refused: make(chan struct{}), turns: make([]turn, readers+2),
	}
	var holds []*redislock.Lock
	for i := range readers {
		lock, err := r.enter(ctx, &r.turns[i], fmt.Sprint("reader ", i+1), r.client.ObtainRead, nil)
		if err != nil {
			return verdict{}, err
		}
		holds = append(holds, lock)
	}
	s.note("%s  three readers hold it", r.at())
	err := together(ctx, len(r.turns), func(ctx context.Context, i int) error {
		switch i {
		case readers:
			return r.write(ctx, &r.turns[i])
		case readers + 1:
			return r.comeLate(ctx, &r.turns[i])
		}
		return r.finish(ctx, &r.turns[i], holds[i], i)
	})
	if err != nil {
		return verdict{}, err
	}
	r.chart()
	return r.judge(), nil
}

// judge looks at who held the key when.
func (r *reading) judge() verdict {
	first, writer, late := r.turns[:readers], r.turns[readers], r.turns[readers+1]
	var v verdict
	lastIn := slices.MaxFunc(first, func(a, b turn) int { return cmp.Compare(a.from, b.from) })
	firstOut := slices.MinFunc(first, func(a, b turn) int { return cmp.Compare(a.until, b.until) })
	v.check(lastIn.from < firstOut.until, "three readers at once", "the readers took turns")
	conflict, ok := errors.AsType[*redislock.ConflictError](r.refusal)
	v.check(ok && conflict.Mode == redislock.ModeIntent, "the late one kept out by the intent",
		fmt.Sprintf("the late reader was not kept out by an intent: %v", r.refusal))
	alone := true
	for _, t := range append(slices.Clone(first), late) {
		alone = alone && (t.until <= writer.from || t.from >= writer.until)
	}
	v.check(alone, "the writer alone", "the writer was not alone")
	v.check(writer.from < late.from, "and before the late reader", "the late reader overtook the writer")
	return v
}

// at is how far the play has come.
func (r *reading) at() string { return fmt.Sprintf("%4d ms", time.Since(r.began).Milliseconds()) }

// An obtain is one of the ways to obtain a set.
type obtain func(context.Context, []string, time.Duration, *redislock.Options) (*redislock.Lock, error)

// enter obtains the key for a turn. A nil strategy asks once.
func (r *reading) enter(ctx context.Context, t *turn, name string, get obtain, strategy redislock.RetryStrategy) (*redislock.Lock, error) {
	*t = turn{name: name, asked: time.Since(r.began)}
	lock, err := get(ctx, []string{r.key}, 10*time.Second, &redislock.Options{
		RetryStrategy: strategy, Metadata: "who=" + strings.ReplaceAll(name, " ", "-"), Intent: !r.broken,
	})
	t.from = time.Since(r.began)
	return lock, err
}

// leave holds the lock for a while longer, then releases it.
func (r *reading) leave(ctx context.Context, t *turn, lock *redislock.Lock, after time.Duration) error {
	paused := sleep(ctx, r.span(after))
	t.until = time.Since(r.began) // before the release: from then on somebody else may have it
	if err := lock.Release(ctx); err != nil {
		return err
	}
	return paused
}

// finish is the end of a reader: it goes after the late one has been refused.
func (r *reading) finish(ctx context.Context, t *turn, lock *redislock.Lock, i int) error {
	select {
	case <-r.refused:
	case <-ctx.Done():
	}
	return r.leave(ctx, t, lock, time.Duration(100+80*i)*time.Millisecond)
}

// write is the part of the writer.
func (r *reading) write(ctx context.Context, t *turn) error {
	if err := sleep(ctx, r.span(100*time.Millisecond)); err != nil {
		return err
	}
	r.note("%s  a writer asks, with Intent, and waits", r.at())
	close(r.writing)
	lock, err := r.enter(ctx, t, "writer", r.client.Obtain, redislock.LinearBackoff(10*time.Millisecond))
	if err != nil {
		return err
	}
	r.note("%s  the readers have gone, the writer has its turn", r.at())
	return r.leave(ctx, t, lock, 120*time.Millisecond)
}

// comeLate is the part of a reader who comes when a writer waits.
func (r *reading) comeLate(ctx context.Context, t *turn) error {
	if err := r.intended(ctx); err != nil {
		return err
	}
	if err := sleep(ctx, r.span(60*time.Millisecond)); err != nil {
		return err
	}
	lock, err := r.enter(ctx, t, "late reader", r.client.ObtainRead, nil)
	r.refusal = err
	close(r.refused)
	if errors.Is(err, redislock.ErrNotObtained) {
		asked := t.asked
		r.note("%s  a late reader asks once:", r.at())
		r.note("           %s", r.screen.Paint(cli.Red, err.Error()))
		lock, err = r.enter(ctx, t, t.name, r.client.ObtainRead, redislock.LinearBackoff(10*time.Millisecond))
		t.asked = asked
	}
	if err != nil {
		return err
	}
	r.note("%s  the late reader has it", r.at())
	return r.leave(ctx, t, lock, 80*time.Millisecond)
}

// intended waits until the writer's intent shows, or should have shown long since.
func (r *reading) intended(ctx context.Context) error {
	select {
	case <-r.writing:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	for give := time.Now().Add(3 * time.Second); time.Now().Before(give); {
		states, err := r.client.Inspect(ctx, []string{r.key})
		if err != nil || states[0].Intent != nil {
			return err
		}
		if err := sleep(ctx, 5*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// chart draws the turns.
func (r *reading) chart() {
	const columns = 42
	end := slices.MaxFunc(r.turns, func(a, b turn) int { return cmp.Compare(a.until, b.until) }).until
	cell := max(end/columns, time.Millisecond)
	r.note("%-12s %6s %6s %6s  (ms; ░ waits, █ holds)", "", "asked", "from", "until")
	for _, t := range r.turns {
		at, in, out := int(t.asked/cell), int(t.from/cell), int(t.until/cell)
		bar := strings.Repeat(" ", at) + strings.Repeat("░", in-at) + strings.Repeat("█", max(out-in, 1))
		r.note("%-12s %6d %6d %6d  %s", t.name,
			t.asked.Milliseconds(), t.from.Milliseconds(), t.until.Milliseconds(), bar)
	}
}
