package demo

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-14de3678/redislock"
)

const readers = 3

// A turn is when somebody asked for the key, and held it.
type turn struct {
	name               string
	asked, from, until time.Duration // since the play began
}

// A reading is one play of readers and a writer over one key.
type reading struct {
	*stage
	key   string
	began time.Time
	turns []turn // the readers', and the writer's: each writes its own
	asked func() // is called when the writer has had its first answer
}

// playReaders has readers share a key, and a writer wait for it.
func playReaders(ctx context.Context, s *stage) (verdict, error) {
	asked := make(chan struct{})
	r := &reading{
		stage: s, key: s.key("report"), began: time.Now(), turns: make([]turn, readers+1),
		asked: sync.OnceFunc(func() { close(asked) }),
	}
	var holds []*redislock.Lock
	for i := range readers {
		lock, err := r.enter(ctx, &r.turns[i], fmt.Sprint("reader ", i+1), s.client.ObtainRead)
		if err != nil {
			return verdict{}, err
		}
		holds = append(holds, lock)
	}
	s.note("%s  three readers hold it", r.at())
	err := together(ctx, len(r.turns), func(ctx context.Context, i int) error {
		if i == readers {
			return r.write(ctx, &r.turns[i])
		}
		select {
		case <-asked:
		case <-ctx.Done():
		}
		return r.leave(ctx, &r.turns[i], holds[i], time.Duration(150+80*i)*time.Millisecond)
	})
	if err != nil {
		return verdict{}, err
	}
	r.chart()
	return r.judge(), nil
}

// judge looks at who held the key when.
func (r *reading) judge() verdict {
	first, writer := r.turns[:readers], r.turns[readers]
	lastIn := slices.MaxFunc(first, func(a, b turn) int { return cmp.Compare(a.from, b.from) })
	byEnd := func(a, b turn) int { return cmp.Compare(a.until, b.until) }
	var v verdict
	v.check(lastIn.from < slices.MinFunc(first, byEnd).until, "three readers at once", "the readers took turns")
	v.check(writer.from >= slices.MaxFunc(first, byEnd).until, "the writer alone, after them", "the writer was not alone")
	return v
}

// at is how far the play has come.
func (r *reading) at() string { return fmt.Sprintf("%4d ms", time.Since(r.began).Milliseconds()) }

// An obtain is one of the ways to obtain a set.
type obtain func(context.Context, []string, time.Duration, *redislock.Options) (*redislock.Lock, error)

// enter obtains the key for a turn.
func (r *reading) enter(ctx context.Context, t *turn, name string, get obtain) (*redislock.Lock, error) {
	*t = turn{name: name, asked: time.Since(r.began)}
	refused := func() redislock.BackOff {
		r.asked()
		return redislock.LinearBackoff(10 * time.Millisecond)()
	}
	lock, err := get(ctx, []string{r.key}, 10*time.Second, &redislock.Options{
		RetryStrategy: refused, Metadata: "who=" + strings.ReplaceAll(name, " ", "-"),
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

// write is the part of the writer.
func (r *reading) write(ctx context.Context, t *turn) error {
	if err := sleep(ctx, r.span(100*time.Millisecond)); err != nil {
		return err
	}
	get := r.client.Obtain
	if r.broken {
		get = r.client.ObtainRead
	}
	r.note("%s  a writer asks, and waits", r.at())
	lock, err := r.enter(ctx, t, "writer", get)
	r.asked()
	if err != nil {
		return err
	}
	r.note("%s  the readers have gone, the writer has its turn", r.at())
	return r.leave(ctx, t, lock, 120*time.Millisecond)
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
