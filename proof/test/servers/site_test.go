package servers_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
)

// keyPrefix is that of docs/rights.md.
const keyPrefix = "lock:"

// long is a ttl that does not end within a scenario.
const long = 10 * time.Minute

// patience is how long a scenario waits for what happens at once on a machine that has nothing else to do.
const patience = time.Minute

// A site is where one scenario runs: a server, reached in one way, with keys that no other scenario uses. A scenario ends at the
// first thing that is wrong, with a broken as its panic, so that what is wrong can be compared with the table.
type site struct {
	t     *testing.T
	ctx   context.Context
	name  string
	rdb   *redis.Client
	admin *redis.Client     // may do everything, over the plain way
	a, b  *redislock.Client // two programs
	lossy bool
	clean []func()
}

// A scenario is something that a program does with locks.
type scenario struct {
	name string
	run  func(*site)
}

// broken is what is wrong.
type broken struct{ error }

// runScenario returns what is wrong, nil if nothing is.
func runScenario(t *testing.T, s *server, w way, rdb *redis.Client, c scenario) (err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	defer cancel()
	e := &site{t: t, ctx: ctx, name: "#" + c.name + "#" + w.name + "#", rdb: rdb, admin: s.admin, lossy: w.lossy}
	e.a, e.b = e.program(), e.program()
	defer func() {
		for i := range e.clean {
			e.clean[len(e.clean)-1-i]()
		}
	}()
	defer func() {
		if got := recover(); got != nil {
			b, ok := got.(broken)
			if !ok {
				panic(got)
			}
			err = b.error
		}
	}()
	c.run(e)
	return nil
}

// program is one more program that uses the server.
func (e *site) program(opts ...redislock.ClientOption) *redislock.Client {
	client := redislock.New(e.rdb, append(opts, redislock.WithKeyPrefix(keyPrefix))...)
	e.clean = append(e.clean, client.Close)
	return client
}

// keys names keys of the scenario.
func (e *site) keys(names ...string) []string {
	keys := make([]string, len(names))
	for i, name := range names {
		keys[i] = e.name + name
	}
	return keys
}

// must ends the scenario if there is an error.
func (e *site) must(what string, err error) {
	if err != nil {
		panic(broken{fmt.Errorf("%s: %w", what, err)})
	}
}

// want ends the scenario if something is not so.
func (e *site) want(is bool, format string, args ...any) {
	if !is {
		panic(broken{fmt.Errorf("not so: "+format, args...)})
	}
}

// got is must for what returns a lock.
func (e *site) got(what string, lock *redislock.Lock, err error) *redislock.Lock {
	e.must(what, err)
	return lock
}

// An obtainer is a Client or an Owner.
type obtainer interface {
	Obtain(ctx context.Context, keys []string, ttl time.Duration, opt *redislock.Options) (*redislock.Lock, error)
}

// obtain takes write locks.
func (e *site) obtain(by obtainer, ttl time.Duration, opt *redislock.Options, names ...string) *redislock.Lock {
	lock, err := by.Obtain(e.ctx, e.keys(names...), ttl, opt)
	return e.got("obtain", lock, err)
}

// wantConflict checks who is in the way.
func (e *site) wantConflict(err error, name string, mode redislock.Mode, metadata string) redislock.ConflictError {
	var conflict *redislock.ConflictError
	e.want(errors.As(err, &conflict) && errors.Is(err, redislock.ErrNotObtained), "a conflict, but %v", err)
	e.want(conflict.Key == e.keys(name)[0] && conflict.Mode == mode && conflict.Metadata == metadata,
		"%s is %s-locked by %q, but %v", name, mode, metadata, err)
	e.want(conflict.TTL > 0 && conflict.TTL <= long, "a TTL of at most %v, but %v", long, conflict.TTL)
	return *conflict
}

// refused checks that somebody else cannot write a key.
func (e *site) refused(name string, mode redislock.Mode, metadata string) redislock.ConflictError {
	_, err := e.b.Obtain(e.ctx, e.keys(name), long, nil)
	return e.wantConflict(err, name, mode, metadata)
}

// isFree checks that the keys can be had.
func (e *site) isFree(names ...string) {
	for _, state := range e.inspect(names...) {
		e.want(state.Mode == redislock.ModeFree, "%q is free, but %v", state.Key, state)
	}
}

func (e *site) inspect(names ...string) []redislock.KeyState {
	states, err := e.b.Inspect(e.ctx, e.keys(names...))
	e.must("inspect", err)
	return states
}

// eventually waits for something.
func (e *site) eventually(what string, is func() bool) {
	for end := time.Now().Add(patience); !is(); time.Sleep(5 * time.Millisecond) {
		e.want(time.Now().Before(end), "within %v: %s", patience, what)
	}
}

// receive waits for a value.
func receive[T any](e *site, what string, from <-chan T) T {
	value, ok := check.Receive(from, patience)
	e.want(ok, "within %v: %s", patience, what)
	return value
}
