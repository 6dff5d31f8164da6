package quick_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/seed-14de3678/redislock/internal/pace"
)

// steps is a BackOff of given waits, that has been used before.
type steps struct {
	waits []time.Duration
	next  int
}

func (s *steps) Reset() { s.next = 0 }

func (s *steps) NextBackOff() time.Duration {
	if s.next == len(s.waits) {
		return backoff.Stop
	}
	s.next++
	return s.waits[s.next-1]
}

func TestNext(t *testing.T) {
	t.Parallel()
	begun := 0
	p := pace.New(func() pace.BackOff {
		begun++
		return &steps{waits: []time.Duration{3 * time.Second, 0, time.Second, pace.Least - 1, 0}, next: 2}
	})
	for i, want := range []time.Duration{3 * time.Second, pace.Least, time.Second, pace.Least, pace.Least, backoff.Stop} {
		if got := p.Next(); got != want {
			t.Errorf("got wait %d %v, want %v", i, got, want)
		}
	}
	if begun != 1 {
		t.Errorf("the strategy was begun %d times", begun)
	}
	none := pace.New(nil)
	if got := none.Next(); got != backoff.Stop {
		t.Errorf("got wait %v without a strategy", got)
	}
}

// bare is a BackOff that cannot be reset.
type bare struct{ asked int }

func (b *bare) NextBackOff() time.Duration { b.asked++; return time.Duration(b.asked) * time.Second }

// A policy of anybody's will do. One that was changed after it was made, as those of cenkalti/backoff often are, waits as it
// was changed to.
func TestBegin(t *testing.T) {
	t.Parallel()
	for name, strategy := range map[string]func() pace.BackOff{
		"without Reset": func() pace.BackOff { return new(bare) },
		"of backoff v4": func() pace.BackOff {
			b := backoff.NewExponentialBackOff()
			b.InitialInterval, b.Multiplier, b.RandomizationFactor = time.Second, 2, 0
			return b
		},
	} {
		p := pace.New(strategy)
		if first, second := p.Next(), p.Next(); first != time.Second || second != 2*time.Second {
			t.Errorf("%s: got waits of %v and %v, want 1 s and 2 s", name, first, second)
		}
	}
	if pace.Begin(func() pace.BackOff { return nil }) != nil {
		t.Error("no BackOff has become one")
	}
}

// An Obtain that was only told how long asks again after 10 ms, 20 ms and so on, up to 250 ms, each with a jitter.
func TestStrategyOfWait(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	bounds := func(which int) (least, most time.Duration) {
		least = time.Hour
		for range 1000 {
			waits := pace.Strategy(nil, time.Second)()
			for range which {
				waits.NextBackOff()
			}
			wait := waits.NextBackOff()
			least, most = min(least, wait), max(most, wait)
		}
		return least, most
	}
	if least, most := bounds(0); least < 5*ms || least > 7*ms || most < 13*ms || most > 15*ms {
		t.Errorf("the first waits were %v to %v, want 5 ms to 15 ms", least, most)
	}
	if least, most := bounds(8); least < 125*ms || least > 150*ms || most != 250*ms {
		t.Errorf("late waits were %v to %v, want 125 ms to 250 ms", least, most)
	}
	if pace.Strategy(nil, 0) != nil {
		t.Error("without a time to wait there is a strategy")
	}
}

func TestCut(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for _, row := range []struct{ wait, left, least, most time.Duration }{
		{5 * ms, 10 * ms, 5 * ms, 5 * ms},
		{10 * ms, 10 * ms, 10 * ms, 10 * ms},
		{time.Hour, -1, time.Hour, time.Hour},
		{time.Hour, 10 * ms, 11 * ms, 31 * ms},
		{12 * ms, 10 * ms, 11 * ms, 13 * ms},
		{11 * ms, 0, ms, 12 * ms},
	} {
		for range 200 {
			if got := pace.Cut(row.wait, row.left); got < row.least || got > row.most {
				t.Fatalf("got %v for a wait of %v with %v left, want %v to %v", got, row.wait, row.left, row.least, row.most)
			}
		}
	}
}

func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		if !pace.Sleep(ctx, time.Second) || time.Since(began) != time.Second {
			t.Errorf("it slept for %v of a second", time.Since(began))
		}
		if pace.Sleep(ctx, time.Hour) || time.Since(began) != time.Minute {
			t.Errorf("it slept for %v with a context of a minute", time.Since(began))
		}
		if pace.Sleep(ctx, 0) {
			t.Error("a context that has ended goes on")
		}
	})
}

// One timer does for all waits of an Obtain, however they have ended.
func TestSleepAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pace.New(nil)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		began := time.Now()
		if p.Sleep(ended, time.Hour) || time.Since(began) != 0 {
			t.Errorf("it slept for %v with a context that has ended", time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for i := range 3 {
			if !p.Sleep(ctx, time.Second) || time.Since(began) != time.Duration(i+1)*time.Second {
				t.Errorf("it slept until %v, want %d s", time.Since(began), i+1)
			}
		}
	})
}

// No wait is shorter than a millisecond, and one that was cut is up to 20 ms longer than what it was cut to.
func TestWaitsAreBounded(t *testing.T) {
	t.Parallel()
	none := pace.New(func() pace.BackOff { return &backoff.ZeroBackOff{} })
	if got := none.Next(); got != time.Millisecond {
		t.Errorf("got wait %v, want 1 ms", got)
	}
	most := time.Duration(0)
	for range 1000 {
		most = max(most, pace.Cut(time.Hour, time.Second))
	}
	if most < 1015*time.Millisecond || most > 1021*time.Millisecond {
		t.Errorf("got waits up to %v, want nearly 1.021 s", most)
	}
}
