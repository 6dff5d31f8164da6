package redislock

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/listen"
	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/pace"
	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/internal/rounds"
	"github.com/seed-14de3678/redislock/internal/wire"
)

const (
	// longestPause is the longest pause before what has failed is tried again.
	longestPause = time.Second
	// mostTooLate is how many answers to a waiter may come too late before it gives up: a ttl that is shorter than the
	// way to the server is of no use.
	mostTooLate = 3
)

// A standing is where one Obtain stands in line, and how it hears of its turn. One goroutine uses it.
type standing struct {
	refused bool // it was a moment ago, by the short way

	waiter  *listen.Waiter // nil before it may stand in Redis
	sharded bool           // of its channel
	place   proto.Place
	seat    rounds.Seat // in the rounds, while it waits

	// since and micros are the same moment on two clocks: since is before the server has answered, by our clock, and
	// micros is when it answered, by the clock of the server. Zero: the server's clock is not known.
	since  clock.Moment
	micros int64

	subscribed  bool          // the waiter can be told
	subscribeAt clock.Moment  // not sooner; zero: at any time
	askIn       time.Duration // when to ask again if nothing is heard, after the latest answer

	failures int // of attempts, since the last answer
	faults   int // of the subscription, since it is known that somebody hears the channel
	tooLate  int // answers that came too late
}

// enter prepares a standing to stand in Redis.
func (s *standing) enter(hub *listen.Hub, set keySet, owner *owners.Owner) {
	id := owners.NewID() // not the one of the lock: others read it
	s.waiter, s.sharded = hub.NewWaiter(id, set.Keys), hub.Sharded()
	s.waiter.Owner, s.seat = owner, rounds.Seat{Waiter: s.waiter, Keys: set.Keys, Lines: set.Lines}
}

// stand asks, and waits in line if it has to, until it has the lock or ctx ends, which may be by Options.Wait. Before that it
// waits behind others of its Client that want the same set.
//
// Nothing depends on a message. The waiter asks again every now and then, or the rounds of the Client do it. It also
// asks when the lease before it is over, and when its subscription begins anew. To ask twice is harmless: a place is
// kept, and a granted lock is confirmed. A message only saves the time until then.
func (o *obtaining) stand(ctx context.Context) (lock *Lock, err error) {
	o.alone = !o.isLocal()
	if o.first.call != nil {
		o.line = &standing{}
	}
	for {
		if err := o.over(ctx); err != nil {
			return nil, err
		}
		if (o.line == nil || o.line.waiter == nil) && (o.alone || o.first.call == nil) {
			if lock, err := o.comeFirst(ctx); lock != nil || err != nil {
				return lock, err
			}
			if o.line == nil {
				o.line = &standing{}
			}
			s := o.line
			s.enter(o.client.hub, o.want.set, o.owner)
			s.subscribed = o.first.call == nil && s.waiter.JoinSubscribed()
			continue // the client may be closed, for example
		}
		s, asked := o.line, clock.Now()
		if s.refused = s.refused && !s.subscribed; !s.refused {
			if lock, err = o.askInLine(ctx); err == nil || isLast(err) {
				return lock, err
			}
			if s.waiter == nil { // it was the short way
				if s.refused = errors.Is(err, ErrNotObtained) && !o.left.unanswered; s.refused {
					continue
				}
				s.enter(o.client.hub, o.want.set, o.owner)
			}
		}
		if err := o.plan(ctx, asked, err); err != nil {
			return nil, err
		}
		s.refused = false
		if lock, err := o.listen(ctx); lock != nil || err != nil {
			return lock, err
		}
	}
}

// leave ends the waiting, with the lock or without.
func (o *obtaining) leave(lock *Lock) {
	o.leaveHere(lock)
	if o.line != nil && o.line.waiter != nil {
		o.line.waiter.Quit()
	}
}

// askInLine asks once.
func (o *obtaining) askInLine(ctx context.Context) (*Lock, error) {
	s := o.line
	if s.askIn = maxTTL; o.first.call == nil {
		s.subscribed = s.waiter.Ask()
	}
	o.client.local.Asking(o.behind)
	lock, err := o.ask(ctx, noIntent)
	o.asked.last = err
	return lock, err
}

// plan says when to ask again, after an attempt that was begun at that moment and has failed; nil if it was refused a moment
// ago. It returns an error if there is to be none.
func (o *obtaining) plan(ctx context.Context, asked clock.Moment, failed error) error {
	s := o.line
	by := blockerOf(o.asked.conflict)
	switch {
	case failed != nil && (!errors.Is(failed, ErrNotObtained) || errors.Is(failed, ErrNotReplicated)):
		o.client.local.LetGo(o.behind)
		wait := s.pause(ctx, failed, &o.pace)
		if wait < 0 {
			return o.pace.Stopped(failed)
		}
		s.waiter.AskAt(wait)
	case s.subscribed && s.place.IsKnown():
		s.failures = 0
		o.client.local.Stands(o.behind, o.asked.conflict, asked)
		o.client.rounds.Take(&s.seat, asked, s.place, by, s.askIn)
	default:
		s.failures = 0
		s.waiter.AskAt(min(proto.AskAgain-rand.N(proto.AskAgain/8), s.askIn, by.Left()))
	}
	return nil
}

// blockerOf reads a conflict that has just been answered.
func blockerOf(c *ConflictError) rounds.Blocker {
	if c == nil || c.Mode == ModeRestarted {
		return rounds.Blocker{}
	}
	b := rounds.Blocker{Key: c.Key}
	if c.TTL >= 0 && c.Mode != ModeQueue {
		b.Over = clock.Now().Add(c.TTL + clock.AfterEnd)
	}
	return b
}

// pause is how long to wait after a failure. A waiter that stands in line goes on until ctx ends; one that does not yet
// waits as the strategy says. If the caller holds other keys meanwhile, the strategy is asked even where others would
// wait in line for a server that does not answer: the keys would stay locked for as long.
func (s *standing) pause(ctx context.Context, failed error, strategy *pace.Pace) time.Duration {
	_, answered := errors.AsType[redis.Error](failed)
	answered = answered || errors.Is(failed, ErrNotReplicated)
	if !s.place.IsKnown() || !answered && pace.IsWhileHolding(ctx) {
		return strategy.Next()
	}
	s.failures++
	return pauseAfter(s.failures)
}

func pauseAfter(failures int) time.Duration {
	pause := min(longestPause, 5*time.Millisecond<<min(failures, 10))
	return pause/2 + rand.N(pause/2)
}

// noteUnanswered notes a request that was not answered. If it was to enter the lines it may have done so. A waiter that
// is taken for one without a place would not be taken out of its lines, and would keep others waiting.
func (s *standing) noteUnanswered() {
	if s.subscribed {
		s.place = s.place.OrUnknown()
	}
}

// mayBeTooLate notes an answer that has come too late, and reports whether to ask again. Then it asks at once, because
// the keys are most likely still its own.
func (s *standing) mayBeTooLate() bool {
	if s.tooLate++; s.tooLate > mostTooLate {
		return false
	}
	s.askIn = 0
	return true
}

// stands notes the place that a script has given to the waiter, or found.
func (s *standing) stands(sent clock.Moment, a *proto.Answer) {
	s.place = a.Place
	s.since, s.micros = sent, a.Micros
	if a.AskIn >= 0 {
		s.askIn = a.AskIn + clock.AfterEnd
	}
	switch {
	case a.Heard:
		s.faults = 0
	case s.subscribed:
		// Its channel is heard at another server than the one where the keys are, after a fail-over for example.
		// Without a new subscription it would only ask every now and then.
		s.waiter.NotHeard()
		s.faults++
		s.subscribeAt = clock.Now().Add(pauseAfter(s.faults))
		s.subscribed = false
	}
}

// listen waits until there is a reason to ask again, or the lock was granted, which it returns. If that has no point any more it
// returns why.
func (o *obtaining) listen(ctx context.Context) (*Lock, error) {
	s := o.line
	defer o.client.rounds.Leave(&s.seat)
	o.beginsToWait(ctx)
	if !s.subscribed && !clock.Now().Precedes(s.subscribeAt) {
		s.waiter.Subscribe()
	}
	for {
		select {
		case <-s.waiter.C():
		case <-s.waiter.Due():
			return nil, nil
		case <-ctx.Done():
			return nil, nil // the next attempt says that ctx has ended
		}
		news := s.news()
		if news.Granted != nil {
			// With WithReplicas or WithMinUptime it asks, because the owner that granted it the lock has not.
			if sent, ok := s.sinceGrant(news.Granted, &o.want); ok && !o.client.asksServer() {
				return o.obtained(sent, proto.Numbers{First: news.Granted.Number, Last: news.Granted.Number})
			}
			news.Wake = true
		}
		if news.Wake || o.client.closed.Load() {
			return nil, nil
		}
		if news.Err != nil {
			pause, err := o.notSubscribed(news.Err)
			if err != nil {
				return nil, err
			}
			s.waiter.AskAt(pause) // then it asks, and subscribes again
		}
	}
}

// news returns what the waiter has heard.
func (s *standing) news() listen.News {
	news := s.waiter.News()
	if news.Confirmed != (listen.Confirmation{}) {
		s.since, s.micros = news.Confirmed.Sent, news.Confirmed.Micros
	}
	if !news.Subscribed {
		// The next subscription may be to a server with another clock. A deadline that is counted by both clocks would
		// be too late.
		s.since = clock.Moment{}
	}
	if s.subscribed && news.Err != nil {
		s.waiter.Subscribe() // a good subscription has broken: at once, and it counts as no fault
		news.Err = nil
	}
	s.subscribed = news.Subscribed
	return news
}

// notSubscribed returns how long to wait after a subscription has failed, or why there is no point in that. As with
// other commands, it is tried a few times, and then as the strategy says. A waiter that stands in line goes on without
// a subscription, because it asks every now and then. It would lose its place for a fault that may pass.
func (o *obtaining) notSubscribed(fault error) (time.Duration, error) {
	s := o.line
	err := fmt.Errorf("redislock: obtain %s: subscribe: %w", o.want.set, wire.Legible(fault))
	o.asked.last = err
	s.faults++
	o.client.local.LetGo(o.behind)
	stands := s.place.IsKnown()
	switch {
	case !stands && wire.Classify(fault) == wire.Final:
		return 0, err
	case stands || s.faults < wire.DefaultTries:
		return pauseAfter(s.faults), nil
	}
	pause := o.pace.Next()
	if pause < 0 {
		return 0, o.pace.Stopped(err)
	}
	return pause, nil
}

// sinceGrant returns a moment that is certain to be before the lock was granted. It is the moment of the last answer
// plus the time since then by the server's clock, less 1 % for clocks that run at different rates. It is not later than
// now, whatever the clock of another server says. It reports false if the message is older than that answer, or so late
// that little of the lease is certain: then the waiter asks.
func (s *standing) sinceGrant(g *listen.Grant, w *want) (clock.Moment, bool) {
	elapsed := time.Duration(g.Micros-s.micros) * time.Microsecond
	if s.since == (clock.Moment{}) || elapsed < 0 || w.fenced && g.Number <= 0 {
		return clock.Moment{}, false
	}
	at := clock.Now()
	sent := s.since.Add(elapsed - elapsed/100).Earlier(at)
	return sent, at.Since(sent) < clock.Window(w.ttl)/2
}

// leaveLine takes the waiter out of its lines, and gives back what it was granted meanwhile. It waits a little for the
// answer, as far as its patience goes, so that usually nothing is left when Obtain returns.
func (o *obtaining) leaveLine() {
	left := o.cleanUp()
	answered := make(chan struct{})
	left.first = sync.OnceFunc(func() { close(answered) })
	left.Run(clock.Now())
	select {
	case <-answered:
	case <-time.After(o.asked.patience()):
	}
}
