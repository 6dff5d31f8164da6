package rows

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/proof/internal/measure"
)

const (
	largest     = 10000
	withoutAsk  = 2500 // up to here nothing may hold the server for too long
	largeRounds = 6
	mostHeld    = 50e3 // µs for which an operation may hold the server
)

// large does with large sets what can be done with them, and looks at how long each step keeps the server from
// everybody else. Up to some number of keys it may not do so for too long.
func large(ctx context.Context, s *stage) (*report, error) {
	servers, err := s.start(1)
	if err != nil {
		return nil, err
	}
	r := &report{}
	for _, size := range []int{withoutAsk, largest} {
		l := largeSet{server: servers[0], keys: keysOf("large", size), used: map[string][]float64{}}
		for i := range l.clients {
			l.clients[i] = redislock.New(servers[0].Client(), redislock.WithMaxKeys(size))
			s.finally(l.clients[i].Close)
		}
		if err := l.run(ctx); err != nil {
			return nil, err
		}
		for _, step := range l.steps {
			value := measure.SpreadOf(l.used[step])
			r.figure(step, size, measure.ServerCPU.Name, measure.Micros, value)
			if size == withoutAsk || step == obtainWrite || step == releaseWrite {
				r.atMost(mostHeld, subject{step, size, measure.Micros, measure.OnCPU}, value)
			}
		}
	}
	return r, nil
}

// The steps that are allowed with any set.
const (
	obtainWrite  = "obtain, write"
	releaseWrite = "release, write"
)

// run does everything several times.
func (l *largeSet) run(ctx context.Context) error {
	if err := l.learn(ctx); err != nil {
		return err
	}
	for range largeRounds {
		if err := l.free(ctx); err != nil {
			return err
		}
		if err := l.wanted(ctx); err != nil {
			return err
		}
	}
	return nil
}

// A largeSet is the set, three Clients that want it, and what the steps have used.
type largeSet struct {
	server  *measure.Server
	clients [3]*redislock.Client
	keys    []string
	steps   []string // in the order in which they came first
	used    map[string][]float64
}

// learn has the server load the scripts, with sets that cost nothing.
func (l *largeSet) learn(ctx context.Context) error {
	small := largeSet{server: l.server, clients: l.clients, keys: keysOf("small", 2), used: map[string][]float64{}}
	if err := small.free(ctx); err != nil {
		return err
	}
	return small.wanted(ctx)
}

// step does something, and takes down for how long the server worked on it.
func (l *largeSet) step(ctx context.Context, name string, do func() error) error {
	used, err := l.server.Busy(ctx, do)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if _, known := l.used[name]; !known {
		l.steps = append(l.steps, name)
	}
	l.used[name] = append(l.used[name], float64(used.Nanoseconds())/1e3)
	return nil
}

// free obtains and releases the set while nobody wants it.
func (l *largeSet) free(ctx context.Context) error {
	var lock *redislock.Lock
	for _, kind := range []struct {
		name   string
		obtain func() (*redislock.Lock, error)
	}{
		{"write", func() (*redislock.Lock, error) { return l.clients[0].Obtain(ctx, l.keys, ttl, nil) }},
		{"read", func() (*redislock.Lock, error) { return l.clients[0].ObtainRead(ctx, l.keys, ttl, nil) }},
	} {
		err := l.step(ctx, "obtain, "+kind.name, func() (err error) {
			lock, err = kind.obtain()
			return err
		})
		if err != nil {
			return err
		}
		if err := l.step(ctx, "release, "+kind.name, func() error { return lock.Release(ctx) }); err != nil {
			return err
		}
	}
	return nil
}

// A taken is how an Obtain that had to wait has ended.
type taken struct {
	lock *redislock.Lock
	err  error
}

// wanted hands the set over to two who wait for it, one after the other.
func (l *largeSet) wanted(ctx context.Context) error {
	lock, err := l.clients[0].Obtain(ctx, l.keys, ttl, nil)
	if err != nil {
		return err
	}
	first, err := l.enter(ctx, "enter the lines", l.clients[1], 1)
	if err != nil {
		return err
	}
	err = l.step(ctx, "ask again", func() error {
		return l.afterCall(ctx, func() { // a waiter asks again when it has subscribed anew
			l.server.Admin().ClientKillByFilter(ctx, "TYPE", "pubsub")
		})
	})
	if err != nil {
		return err
	}
	second, err := l.enter(ctx, "enter the lines behind another", l.clients[2], 2)
	if err != nil {
		return err
	}
	for _, to := range []struct {
		step string
		got  chan taken
	}{{"hand over, others wait", first}, {"hand over to the last", second}} {
		var next taken
		err := l.step(ctx, to.step, func() error {
			if err := lock.Release(ctx); err != nil {
				return err
			}
			next = <-to.got
			return next.err
		})
		if err != nil {
			return err
		}
		lock = next.lock
	}
	return lock.Release(ctx)
}

// enter has a Client stand in line, as the n-th, and returns when it does.
func (l *largeSet) enter(ctx context.Context, step string, client *redislock.Client, n int) (chan taken, error) {
	got := make(chan taken, 1)
	return got, l.step(ctx, step, func() error {
		go func() {
			lock, err := client.Obtain(ctx, l.keys, ttl, &redislock.Options{Queue: true})
			got <- taken{lock, err}
		}()
		return allWait(ctx, client, l.keys[:1], n)
	})
}

// afterCall does something and returns when the server has executed scripts since, and is quiet
// again.
func (l *largeSet) afterCall(ctx context.Context, do func()) error {
	const quiet = 10 // looks without anything new
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	last, err := l.server.Calls(ctx)
	if err != nil {
		return err
	}
	do()
	for same, called := 0, false; !called || same < quiet; same++ {
		time.Sleep(10 * time.Millisecond)
		now, err := l.server.Calls(ctx)
		if err != nil {
			return err
		}
		if now > last {
			last, called, same = now, true, 0
		}
	}
	return nil
}
