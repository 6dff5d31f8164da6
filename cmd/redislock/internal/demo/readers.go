package demo

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/seed-14de3678/redislock"
)

const readers = 3

// A turn is when somebody held the key, since the play began.
type turn struct{ from, until time.Duration }

// A reading is one play of readers and a writer over one key.
type reading struct {
	*stage
	key   string
	began time.Time
	turns []turn // the readers', and the writer's: each writes its own
}

// playReaders has readers share a key, and a writer wait for it.
func playReaders(ctx context.Context, s *stage) (verdict, error) {
	r := &reading{stage: s, key: s.key("report"), began: time.Now(), turns: make([]turn, readers+1)}
	holds := make([]*redislock.Lock, readers)
	for i := range holds {
		lock, err := s.client.ObtainRead(ctx, []string{r.key}, 10*time.Second, nil)
		if err != nil {
			return verdict{}, err
		}
		holds[i], r.turns[i].from = lock, r.note("reader %d has it", i+1)
	}
	asked := make(chan struct{})
	err := together(ctx, len(r.turns), func(ctx context.Context, i int) error {
		if i == readers {
			return r.write(ctx, sync.OnceFunc(func() { close(asked) }))
		}
		select {
		case <-asked:
		case <-ctx.Done():
		}
		return r.leave(ctx, i, fmt.Sprint("reader ", i+1), holds[i], time.Duration(150+80*i)*time.Millisecond)
	})
	return r.judge(), err
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

// note writes a line, and returns how far the play has come.
func (r *reading) note(format string, args ...any) time.Duration {
	at := time.Since(r.began)
	r.stage.note("%4d ms  %s", at.Milliseconds(), fmt.Sprintf(format, args...))
	return at
}

// leave holds the lock for a while longer, then releases it.
func (r *reading) leave(ctx context.Context, i int, who string, lock *redislock.Lock, after time.Duration) error {
	paused := sleep(ctx, r.span(after))
	r.turns[i].until = r.note("%s releases it", who) // it does that now: from then on somebody else may have it
	if err := lock.Release(ctx); err != nil {
		return err
	}
	return paused
}

// write is the part of the writer. It calls asked when it has had its first answer.
func (r *reading) write(ctx context.Context, asked func()) error {
	if err := sleep(ctx, r.span(100*time.Millisecond)); err != nil {
		return err
	}
	obtain := r.client.Obtain
	if r.broken {
		obtain = r.client.ObtainRead
	}
	r.note("a writer asks, and waits")
	lock, err := obtain(ctx, []string{r.key}, 10*time.Second, &redislock.Options{RetryStrategy: func() redislock.BackOff {
		asked()
		return redislock.LinearBackoff(10 * time.Millisecond)()
	}})
	asked()
	if err != nil {
		return err
	}
	r.turns[readers].from = r.note("the writer has it")
	return r.leave(ctx, readers, "the writer", lock, 120*time.Millisecond)
}
