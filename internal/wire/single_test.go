package wire

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-14de3678/redislock/internal/clock"
)

// A timeout that several tries have one after the other ends each of them when its own time is over.
func TestTimeoutOfTries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		isOver := func(try *tryContext) bool {
			synctest.Wait()
			return try.Err() != nil
		}
		to := new(timeout)
		for round := range 3 {
			var quick, slow tryContext
			to.set(&quick, nil, clock.Now().Mono+overdue)
			time.Sleep(overdue - 10*time.Millisecond)
			to.clear()
			to.set(&slow, nil, clock.Now().Mono+overdue)
			time.Sleep(overdue - time.Millisecond)
			if isOver(&quick) || isOver(&slow) {
				t.Errorf("round %d: a try has ended too soon", round)
			}
			time.Sleep(2 * time.Millisecond)
			if isOver(&quick) || !isOver(&slow) {
				t.Errorf("round %d: got over %t and %t, want only the second", round, isOver(&quick), isOver(&slow))
			}
			to.clear()
			time.Sleep(time.Hour)
		}
	})
}

// The tries of a call have one channel after the other, as long as nobody has closed it. A hook may keep the context of
// a try that is over, and finds an error in it when the channel is closed for another one.
func TestTriesShareAChannel(t *testing.T) {
	t.Parallel()
	c := &Call{Wish: Wish{Context: t.Context(), Bounded: true}}
	first, second, third := newSingle(c), newSingle(c), newSingle(c)
	first.beginTry()
	channel := first.try.Done()
	first.endTry()
	second.beginTry()
	if second.try.Done() != channel {
		t.Error("the second try has a channel of its own")
	}
	c.endConnecting(errNoConnection)
	if first.try.Err() == nil {
		t.Error("the context of the first try has a closed channel and no error")
	}
	second.endTry()
	if third.beginTry(); third.try.Done() == channel {
		t.Error("the third try has a channel that is closed")
	}
}

// A timeout tells its caller when the time is over that was set last, be it earlier or later than the one before.
func TestTimeoutTells(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to, c := new(timeout), &Call{progress: progress{done: make(chan struct{}, 1)}}
		for _, within := range []time.Duration{time.Second, time.Minute, time.Millisecond, time.Second} {
			began := time.Now()
			to.set(nil, c, clock.Now().Mono+time.Hour)
			to.set(nil, c, clock.Now().Mono+within)
			<-c.done
			if got := time.Since(began); got != within || !to.isOver() {
				t.Errorf("told after %s, over: %t, want %s", got, to.isOver(), within)
			}
		}
		to.set(nil, c, clock.Now().Mono+time.Second)
		to.clear()
		time.Sleep(time.Hour)
		select {
		case <-c.done:
			t.Error("told after it was cleared")
		default:
		}
	})
}

// A timeout of a long time that is of no use any more has no timer soon.
func TestTimeoutRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := new(timeout)
		to.set(nil, new(Call), clock.Now().Mono+time.Hour)
		to.clear()
		time.Sleep(longestTimer)
		synctest.Wait()
		if to.timer.Stop() {
			t.Error("its timer still runs")
		}
	})
}

// A caller that is told to look although there is nothing waits on, whatever it waits for.
func TestCallerLooksInVain(t *testing.T) {
	for name, c := range map[string]struct {
		ctx     func(context.Context) (context.Context, context.CancelFunc)
		bounded bool
	}{
		"without an end": {func(context.Context) (context.Context, context.CancelFunc) { return context.Background(), func() {} }, false},
		"with an end":    {context.WithCancel, false},
		"bounded":        {context.WithCancel, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := c.ctx(t.Context())
			defer cancel()
			conn := new(Conn)
			call := &Call{Wish: Wish{Bounded: c.bounded}, conn: conn, progress: progress{done: make(chan struct{}, 1)}}
			conn.under.Add(1)
			look(call.done)
			began := time.Now()
			time.AfterFunc(time.Minute, func() { look(call.done) })
			time.AfterFunc(2*time.Minute, call.finish)
			call.Began = clock.Now()
			end := conn.await(ctx, call, time.Hour, time.Second)
			if took := time.Since(began); end != Settled || took != 2*time.Minute {
				t.Errorf("%s: got end %v after %s", name, end, took)
			}
		})
	}
}

// A call that is sent once more with the source of its script, in the same try, has what it had: one context, and one
// time since which it counts. The command that went before is left as it was, for hooks that keep it.
func TestTryWithSource(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for name, c := range map[string]*Call{
			"bounded":            {Wish: Wish{Bounded: true, Context: ctx}},
			"bounded, by caller": {Wish: Wish{Bounded: true, Context: ctx}, progress: progress{byCaller: true, limit: new(timeout)}},
			"with an end":        {Wish: Wish{Context: ctx}},
			"that goes on":       {Wish: Wish{Context: context.Background()}},
		} {
			c.Run = &said{key: "k"}
			own, s := c.Context, newSingle(c)
			began := clock.Now()
			s.prepare(began, false)
			named, channel := s.Args(), s.context().Done()
			if c.byCaller != (c.Began == began) {
				t.Errorf("%s: it began at %v, want %v", name, c.Began, began)
			}
			time.Sleep(overdue / 2)
			s.prepare(clock.Now(), true)
			if named[0] != "evalsha" || s.Args()[0] != "eval" || c.Sent == began || c.byCaller != (c.Began == began) {
				t.Errorf("%s: got commands %v and %v, began %v, sent %v", name, named, s.Args(), c.Began, c.Sent)
			}
			if s.context().Done() != channel || c.Bounded != (channel != nil) && own.Done() != nil {
				t.Errorf("%s: the try has another channel", name)
			}
			if c.byCaller {
				time.Sleep(overdue/2 - 1)
				synctest.Wait()
				if s.context().Err() != nil {
					t.Error("the time for a connection is over too soon")
				}
				time.Sleep(time.Nanosecond)
				<-channel
			}
			s.answered()
			if c.Context != own || s.call != nil {
				t.Errorf("%s: the call has the context of a try that is over, or is kept by its command", name)
			}
			c.limited().clear()
		}
	})
}

// A bounded call with a caller that has gone does not begin to wait for a connection.
func TestTryOfAbandoned(t *testing.T) {
	t.Parallel()
	c := &Call{Wish: Wish{Context: t.Context(), Bounded: true}}
	c.Abandon(nil)
	s := newSingle(c)
	s.beginTry()
	if err := c.Context.Err(); !errors.Is(err, errNoConnection) {
		t.Errorf("got error %v", err)
	}
}
