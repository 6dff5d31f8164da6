package wire

import (
	"context"
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
		to := new(Conn).newTimeout()
		for round := range 3 {
			var quick, slow tryContext
			to.end(&quick, clock.Now().Mono+overdue)
			time.Sleep(overdue - 10*time.Millisecond)
			to.clear()
			to.end(&slow, clock.Now().Mono+overdue)
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
		to := new(Conn).newTimeout()
		for _, within := range []time.Duration{time.Second, time.Minute, time.Millisecond, time.Second} {
			began := time.Now()
			to.tell(clock.Now().Mono + time.Hour)
			to.tell(clock.Now().Mono + within)
			<-to.rang
			if got := time.Since(began); got != within {
				t.Errorf("told after %s, want %s", got, within)
			}
		}
		to.tell(clock.Now().Mono + time.Second)
		to.clear()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		select {
		case <-to.rang:
			t.Error("told after it was cleared")
		case <-ctx.Done():
		}
	})
}
