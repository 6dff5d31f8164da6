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
	"github.com/seed-14de3678/redislock/internal/wire"
)

const (
	// waiterLife is for how long a waiter counts as alive that does not ask again.
	waiterLife = 15 * time.Second
	// askAgain is how often it does so, less a jitter, whatever it hears or does not.
	askAgain = waiterLife / 3
	// leaseOver is how long after the end of a lease it is certain that the key is gone.
	leaseOver = 2 * time.Millisecond
	// longestPause is the one before what has failed is tried again.
	longestPause = time.Second
)

// unknownPlace stands for the place of a waiter that may be in line.
const unknownPlace = "?"

// A standing is where an Obtain stands in line.
type standing struct {
	id     string       // of its waiter
	number string       // the same in every line; "" before it enters one, "?" if it may stand there
	asked  clock.Moment // the latest moment that is known to be before everything after
	micros int64        // this one of the server's clock
}

// stand asks, and waits in line if it has to, until the lock is there or ctx ends.
//
// Nothing depends on a message: it asks again every now and then, and whenever the lease of whoever
// is before it is over, or its subscription begins anew. To ask twice is harmless: a place is kept, a
// lock that was granted is confirmed. What a message brings is only the time until then.
func (o *obtaining) stand(ctx context.Context) (*Lock, error) {
	o.place.id = owners.NewToken() // not the token: others read it
	w := o.client.hub.NewWaiter(o.place.id, o.set.keys)
	o.waiter = w
	defer w.Leave()
	o.hears = w.JoinSubscribed()
	for {
		if err := o.over(ctx); err != nil {
			return nil, err
		}
		o.hears = w.Ask()
		o.hint = maxTTL
		lock, err := o.ask(ctx, 0)
		if err == nil {
			return lock, nil
		}
		o.last = err
		if o.isLast(err) {
			return nil, err
		}
		wait := askAgain - rand.N(askAgain/8)
		switch {
		case errors.Is(err, ErrNotObtained) && !errors.Is(err, ErrNotReplicated):
			wait = min(wait, o.hint)
			o.failures = 0
		default:
			if wait = o.pause(ctx, err); wait < 0 {
				return nil, err
			}
		}
		w.AskAt(wait)
		if lock, err := o.listen(ctx); lock != nil || err != nil {
			return lock, err
		}
	}
}

// pause is how long to wait after a failure: whoever stands in line goes on until ctx ends, whoever
// does not yet, as the strategy says. The strategy is asked as well where others would wait with it for
// a server that does not answer: for keys that the caller holds meanwhile.
func (o *obtaining) pause(ctx context.Context, failed error) time.Duration {
	_, answered := errors.AsType[redis.Error](failed)
	answered = answered || errors.Is(failed, ErrNotReplicated)
	if o.place.number == "" || o.place.number == unknownPlace || !answered && pace.IsWhileHolding(ctx) {
		return o.pace.Next()
	}
	o.failures++
	return pauseAfter(o.failures)
}

func pauseAfter(failures int) time.Duration {
	pause := min(longestPause, 5*time.Millisecond<<min(failures, 10))
	return pause/2 + rand.N(pause/2)
}

// over is the error of an Obtain that is not to ask any more.
func (o *obtaining) over(ctx context.Context) error {
	switch {
	case ctx.Err() != nil:
		o.goes()
		return o.ended(ctx)
	case o.client.closed.Load():
		return &endedError{fmt.Errorf("redislock: obtain %s: %w", o.set, wire.ErrClosed)}
	}
	return nil
}

// listen waits until there is a reason to ask again. It returns the lock if that is granted, or why
// there can be none.
func (o *obtaining) listen(ctx context.Context) (*Lock, error) {
	w := o.waiter
	if !o.hears && !clock.Now().Precedes(o.rejoin) {
		w.Subscribe()
	}
	for {
		select {
		case <-w.C():
		case <-w.Due():
			return nil, nil //nolint:nilnil // it is time to ask
		case <-ctx.Done():
			o.goes()
			return nil, nil //nolint:nilnil // asking ends it
		}
		news := w.News()
		if !news.Subscribed {
			o.place.asked = clock.Moment{} // when it hears again, that may be of a server with another clock
		}
		if o.hears && news.Err != nil {
			w.Subscribe() // it has heard well until now
			news.Err = nil
		}
		o.hears = news.Subscribed
		if news.Granted != nil {
			if sent, ok := o.since(news.Granted); ok {
				return o.obtained(ctx, sent, news.Granted.Number)
			}
			news.Wake = true
		}
		if news.Wake || o.client.closed.Load() {
			return nil, nil //nolint:nilnil // it is time to ask
		}
		if news.Err != nil {
			pause, err := o.unheard(news.Err)
			if err != nil {
				return nil, err
			}
			w.AskAt(pause) // then it asks, and tries to subscribe again
		}
	}
}

// unheard returns how long to wait after a subscription has failed, or why there is no point in
// that: as with other commands that fail it is tried a few times, and then as the strategy says.
func (o *obtaining) unheard(fault error) (time.Duration, error) {
	set := o.set
	err := fmt.Errorf("redislock: obtain %s: subscribe: %w", set, wire.Legible(fault))
	o.last = err
	o.faults++
	lined := o.place.number != "" && o.place.number != unknownPlace
	switch {
	case !lined && wire.Classify(fault) == wire.Final:
		return 0, err
	case lined || o.faults < wire.DefaultTries:
		return pauseAfter(o.faults), nil
	}
	pause := o.pace.Next()
	if pause < 0 {
		return 0, err
	}
	return pause, nil
}

// since returns a moment that is certain to be before the lock was granted: that of the last answer,
// and as long after it as the server's clock says, less 1 % for clocks that run at different rates;
// and not later than now, whatever the clock of another server says. It reports false if the message
// is older than that answer, or so late that little of the lease is certain: then asking tells.
func (o *obtaining) since(g *listen.Grant) (clock.Moment, bool) {
	elapsed := time.Duration(g.Micros-o.place.micros) * time.Microsecond
	switch {
	case o.place.asked == (clock.Moment{}), elapsed < 0, o.fenced && g.Number <= 0,
		o.replicas > 0, o.minUptime > 0: // whoever granted it had no reason to look at these
		return clock.Moment{}, false
	}
	at := clock.Now()
	sent := o.place.asked.Add(elapsed - elapsed/100).Earlier(at)
	return sent, at.Since(sent) < clock.Window(o.ttl)/2
}

// leave takes the waiter out of its lines, and gives back what it was granted meanwhile. It waits a
// little for the answer, as far as its patience goes, so that most often nothing is left when Obtain
// returns.
func (o *obtaining) leave() {
	left := o.leftBehind()
	answered := make(chan struct{})
	left.first = sync.OnceFunc(func() { close(answered) })
	left.Run(clock.Now())
	timer := time.NewTimer(o.patience())
	defer timer.Stop()
	select {
	case <-answered:
	case <-timer.C:
	}
}
