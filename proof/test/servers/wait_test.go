package servers_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A turn is what became of one who waits.
type turn struct {
	who  string
	lock *redislock.Lock
	err  error
}

// stand has somebody stand in line by itself, and returns when it does.
func (e *site) stand(ctx context.Context, turns chan<- turn, client *redislock.Client, who string, write, read []string) {
	seen := append(append([]string{}, write...), read...)[0]
	before := len(e.inspect(seen)[0].Line)
	go func() {
		set := redislock.Set{Write: e.keys(write...), Read: e.keys(read...)}
		lock, err := client.ObtainSet(world.Apart(ctx), set, long, &redislock.Options{Queue: true, Metadata: who})
		turns <- turn{who, lock, err}
	}()
	e.eventually(who+" stands in line", func() bool { return len(e.inspect(seen)[0].Line) > before })
}

// next waits for a turn.
func (e *site) next(turns <-chan turn, who string) *redislock.Lock {
	got := receive(e, "the turn of "+who, turns)
	e.must(got.who, got.err)
	e.want(got.who == who, "it is the turn of %s, but %s has it", who, got.who)
	return got.lock
}

// The lock is handed from one to the next by the release itself, in the order of the line.
func queue(e *site) {
	turns := make(chan turn, 3)
	if e.lossy {
		queueWithLosses(e, turns)
		return
	}
	lock := e.obtain(e.a, long, nil, "a", "b")
	e.stand(e.ctx, turns, e.b, "first", []string{"a"}, nil)
	ctx, cancel := context.WithCancel(e.ctx)
	defer cancel()
	e.stand(ctx, turns, e.a, "second", []string{"a", "b"}, nil)
	e.stand(e.ctx, turns, e.b, "third", []string{"a"}, nil)
	_, err := e.b.Obtain(e.ctx, e.keys("a"), long, nil)
	e.want(errors.Is(err, redislock.ErrNotObtained), "nobody overtakes, but %v", err)
	e.must("release", lock.Release(e.ctx))
	e.want(e.inspect("a")[0].Holders[0].Metadata == "first", "the release hands over, but %v", e.inspect("a"))
	lock = e.next(turns, "first")
	cancel()
	gone := receive(e, "the end of the second", turns)
	e.want(gone.who == "second" && errors.Is(gone.err, context.Canceled), "the second gives up, but %v", gone)
	e.must("release", lock.Release(e.ctx))
	e.must("release", e.next(turns, "third").Release(e.ctx))
	e.isFree("a", "b")
}

// All who wait are served, one at a time. In which order is not looked at, because the request with which one enters the line
// can be lost.
func queueWithLosses(e *site, turns chan turn) {
	lock := e.obtain(e.a, long, nil, "a", "b")
	e.stand(e.ctx, turns, e.b, "first", []string{"a"}, nil)
	e.stand(e.ctx, turns, e.a, "second", []string{"a", "b"}, nil)
	e.must("release", lock.Release(e.ctx))
	for range 2 {
		got := receive(e, "a turn", turns)
		e.must(got.who, got.err)
		e.want(len(turns) == 0, "one at a time, but two after %s", got.who)
		e.must("release", got.lock.Release(e.ctx))
	}
	e.isFree("a", "b")
}

// Whoever has the lock now is told so by a message: otherwise it asks by itself, after some 5 s. On a busy machine that is
// not to be told from a message that is late, so it is tried a few times.
func messages(e *site) {
	if e.lossy {
		return // a message can be lost
	}
	var took time.Duration
	for range 5 {
		turns := make(chan turn, 1)
		lock := e.obtain(e.a, long, nil, "a")
		e.stand(e.ctx, turns, e.b, "waits", []string{"a"}, nil)
		watch := check.StartWatch(e.t)
		e.must("release", lock.Release(e.ctx))
		lock = e.next(turns, "waits")
		took = watch.Took()
		e.must("release", lock.Release(e.ctx))
		if took < world.Soon {
			return
		}
	}
	e.want(false, "messages come, but a turn took %v", took)
}

// Readers at the front have their turns together.
func queueReaders(e *site) {
	turns := make(chan turn, 3)
	lock := e.obtain(e.a, long, nil, "a")
	e.stand(e.ctx, turns, e.b, "reads", nil, []string{"a"})
	e.stand(e.ctx, turns, e.b, "reads", nil, []string{"a", "b"})
	e.stand(e.ctx, turns, e.a, "writes", []string{"b", "a"}, nil)
	e.must("release", lock.Release(e.ctx))
	one, two := e.next(turns, "reads"), e.next(turns, "reads")
	e.must("release", errors.Join(one.Release(e.ctx), two.Release(e.ctx)))
	e.must("release", e.next(turns, "writes").Release(e.ctx))
	e.isFree("a", "b")
}

// A writer that polls keeps new readers out.
func intent(e *site) {
	reader, err := e.a.ObtainRead(e.ctx, e.keys("a"), long, nil)
	e.must("read", err)
	got := make(chan turn, 1)
	go func() {
		lock, err := e.a.Obtain(e.ctx, e.keys("a"), long, &redislock.Options{
			Intent: true, Metadata: "writer", RetryStrategy: redislock.LinearBackoff(20 * time.Millisecond),
		})
		got <- turn{"writer", lock, err}
	}()
	e.eventually("an intent", func() bool { return e.inspect("a")[0].Intent != nil })
	e.eventually("new readers are kept out", func() bool {
		other, err := e.b.ObtainRead(e.ctx, e.keys("a"), long, nil)
		if err == nil { // the intent was over for a moment
			e.must("release", other.Release(e.ctx))
			return false
		}
		e.want(errors.Is(err, redislock.ErrNotObtained), "an intent, but %v", err)
		return true
	})
	e.must("release", reader.Release(e.ctx))
	e.must("release", e.next(got, "writer").Release(e.ctx))
}

// A lock is renewed for as long as the work takes. On a busy machine it may be lost, which is not what is looked at.
func watchdog(e *site) {
	ttl := 6 * time.Second
	if e.lossy { // an Obtain waits for no answer longer than for its ttl
		ttl = 15 * time.Second
	}
	err := redislock.ErrLockLost
	for i := 0; i < 5 && errors.Is(err, redislock.ErrLockLost); i++ {
		err = e.a.With(e.ctx, e.keys("a", "b"), ttl, nil, func(ctx context.Context) error {
			lock := redislock.FromContext(ctx)
			first := lock.Deadline()
			e.eventually("a renewal", func() bool { return lock.Deadline().After(first.Add(ttl/4)) || ctx.Err() != nil })
			return context.Cause(ctx)
		})
	}
	e.must("with", err)
	e.isFree("a", "b")
}

// Somebody breaks a lock, and its holder learns of it at once, by a notice.
func breaks(e *site) {
	holder, ttl := e.program(redislock.WithBreakNotices()), long
	if e.lossy { // a notice can be lost; then a renewal finds it
		ttl = 15 * time.Second
	}
	turns := make(chan turn, 1)
	lock, err := holder.Obtain(e.ctx, e.keys("a", "b"), ttl, &redislock.Options{Watchdog: true, Metadata: "stuck"})
	e.must("obtain", err)
	ctx := lock.Context(e.ctx)
	if !e.lossy { // it has subscribed
		e.eventually("a subscription", func() bool { return e.admin.PubSubNumSub(e.ctx, "redislock:break").Val()["redislock:break"] > 0 })
	}
	e.stand(e.ctx, turns, e.b, "next", []string{"a"}, nil)
	broken, err := e.b.Break(e.ctx, e.keys("a", "b"), "it hangs")
	e.must("break", err)
	e.want(e.lossy || len(broken) == 2 && broken[0].Metadata == "stuck", "two keys of stuck, but %v", broken)
	e.must("release", e.next(turns, "next").Release(e.ctx))
	receive(e, "the holder learns of it", lock.Lost())
	cause := context.Cause(ctx)
	e.want(errors.Is(cause, redislock.ErrLockLost), "a loss, but %v", cause)
	e.want(e.lossy || errors.Is(cause, redislock.ErrBroken), "a notice with the reason, but %v", cause)
	err = lock.Release(e.ctx)
	// If a reply was lost, the request may have released what it no longer finds.
	e.want(errors.Is(err, redislock.ErrLockNotHeld) || e.lossy, "nothing is left to be released, but %v", err)
	e.isFree("a", "b")
}

// Many callers of one program travel together, and no two are in the same place.
func crowd(e *site) {
	const callers, rounds = 24, 4
	counter := 0
	errs := make(chan error, callers)
	for i := range callers {
		go func() {
			var err error
			for r := range rounds {
				own := e.keys(fmt.Sprintf("own %d %d", i, r))
				err = errors.Join(err, e.a.With(e.ctx, own, long, nil, func(context.Context) error { return nil }))
			}
			err = errors.Join(err, e.a.With(e.ctx, e.keys("all"), long, &redislock.Options{Queue: true}, func(context.Context) error {
				counter++ // the race detector sees it if two are here, and so does the sum
				return nil
			}))
			errs <- err
		}()
	}
	for range callers {
		e.must("one of many", receive(e, "all are served", errs))
	}
	e.want(counter == callers, "%d turns, but %d", callers, counter)
	e.isFree("all")
}

// inspected is what Inspect tells of each kind of key.
func inspected(e *site) {
	turns := make(chan turn, 1)
	lock := e.obtain(e.a, long, &redislock.Options{Metadata: "host=web-3"}, "a")
	reader, err := e.a.ObtainRead(e.ctx, e.keys("r"), long, nil)
	e.must("read", err)
	e.must("foreign", e.admin.RPush(e.ctx, keyPrefix+e.keys("list")[0], "x").Err())
	ctx, cancel := context.WithCancel(redislock.WithCaller(e.ctx, "request-7"))
	defer cancel()
	e.stand(ctx, turns, e.b, "waits", []string{"a"}, nil)
	states := e.inspect("a", "r", "free")
	a, r := states[0], states[1]
	e.want(a.Mode == redislock.ModeWrite && a.Holders[0].Metadata == "host=web-3" && !a.Holders[0].Since.IsZero(), "a writer, but %v", a)
	e.want(len(a.Line) == 1 && a.Line[0].Metadata == "waits" && a.Line[0].Caller == "request-7" && a.Line[0].Alive, "a line, but %v", a)
	e.want(r.Mode == redislock.ModeRead && len(r.Holders) == 1, "a reader, but %v", r)
	e.want(states[2].Mode == redislock.ModeFree, "a free key, but %v", states[2])
	cancel()
	receive(e, "the end of the waiter", turns)
	e.must("release", errors.Join(lock.Release(e.ctx), reader.Release(e.ctx)))
}
