package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// lossy is a client of a real server behind a relay that loses, holds and delays what passes.
type lossy struct {
	relay  *redistest.Relay
	direct *redis.Client // goes past the relay
	rdb    *redis.Client
	client *redislock.Client
	key    string
}

// impatient gives up on a reply soon and does not ask again.
func impatient(o *redis.Options) {
	o.ReadTimeout = 200 * time.Millisecond
	o.MaxRetries = -1
}

// persistent gives up on a reply soon and asks again, as often as go-redis does by default.
func persistent(o *redis.Options) { o.ReadTimeout = 200 * time.Millisecond }

// newLossy makes a client with an open connection, to a server that knows the scripts: what a test
// then sees pass is what it asked for.
func newLossy(t *testing.T, mod func(*redis.Options)) *lossy {
	t.Helper()
	b := redistest.Shared(t, redistest.Redis)
	l := &lossy{relay: redistest.NewRelay(t, b.Addr()), direct: b.Client(t), key: t.Name()}
	l.rdb = l.relay.Client(t, mod)
	l.client = redislock.New(l.rdb)
	t.Cleanup(func() { l.direct.Del(context.Background(), l.key) })
	t.Cleanup(l.client.Close)
	warm := l.obtain(t, l.key+":warm")
	noError(t, warm.Refresh(t.Context(), long))
	noError(t, warm.Downgrade(t.Context()))
	noError(t, warm.Release(t.Context()))
	return l
}

func (l *lossy) obtain(t *testing.T, key string) *redislock.Lock {
	t.Helper()
	return must[*redislock.Lock](t)(l.client.Obtain(t.Context(), []string{key}, long, nil))
}

func (l *lossy) locked(t *testing.T) bool {
	t.Helper()
	return must[int64](t)(l.direct.Exists(t.Context(), l.key).Result()) == 1
}

// freed waits until the key is gone, which its ttl alone would take longer to do.
func (l *lossy) freed(t *testing.T) {
	t.Helper()
	eventually(t, 5*time.Second, "the key is free", func() bool { return !l.locked(t) })
}

// on calls fn with the number, from 1, of each command of the operation on the one key. What fn has
// dropped or delayed is over with the next command, those that open a connection included.
func (l *lossy) on(operation string, fn func(n int)) {
	var n atomic.Int64
	l.relay.OnRequest(func(name string, args []string) {
		l.relay.DropReplies(false)
		l.relay.DelayRequests(0)
		if operationOf(name, args) == operation {
			fn(int(n.Add(1)))
		}
	})
}

// operationOf tells the calls on one key apart by how many keys, and arguments, their scripts have.
func operationOf(name string, args []string) string {
	if name != "EVALSHA" && name != "EVAL" {
		return ""
	}
	return map[string]string{"2 5": "release", "2 6": "obtain", "1 6": "refresh"}[fmt.Sprint(args[1], " ", len(args))]
}

// unknownOutcome checks that the error says so, with its cause, and nothing that is not known.
func unknownOutcome(t *testing.T, err error) {
	t.Helper()
	wantIs(t, err, redislock.ErrUnknownOutcome)
	if errors.Is(err, redislock.ErrNotObtained) {
		t.Errorf("got error %v, want one that is not ErrNotObtained", err)
	}
	if _, ok := errors.AsType[net.Error](err); !ok && !errors.Is(err, io.EOF) && !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v, want its cause in it", err)
	}
}

// DESIGN section 11: reply of Obtain lost, key stays locked for its TTL.
func TestObtainReplyLost(t *testing.T) {
	t.Parallel()
	faults := []struct {
		name  string
		spoil func(r *redistest.Relay, n int)
		heals bool // the second try is answered
	}{
		{"dropped", func(r *redistest.Relay, n int) { r.DropReplies(n == 1) }, true},
		{"cut after", func(r *redistest.Relay, n int) {
			if n == 1 {
				r.CutReplies()
			}
		}, true},
		{"cut before", func(r *redistest.Relay, n int) {
			if n == 1 {
				r.Cut()
			}
		}, true},
		{"cut and refused", func(r *redistest.Relay, _ int) {
			r.CutReplies()
			r.Refuse(true)
		}, false},
		{"blackholed", func(r *redistest.Relay, _ int) { r.Blackhole(true) }, false},
	}
	for _, fault := range faults {
		for name, mod := range map[string]func(*redis.Options){"once": impatient, "again": persistent} {
			t.Run(fault.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				l := newLossy(t, mod)
				l.on("obtain", func(n int) { fault.spoil(l.relay, n) })
				lock, err := l.client.Obtain(t.Context(), []string{l.key}, long, nil)
				l.relay.OnRequest(nil)
				l.relay.DropReplies(false)
				l.relay.Blackhole(false)
				l.relay.Refuse(false)
				switch {
				case fault.heals && name == "again":
					noError(t, err)
					if !l.locked(t) {
						t.Error("a lock was returned, but the key is not there")
					}
					noError(t, lock.Release(t.Context()))
				default:
					unknownOutcome(t, err)
				}
				l.freed(t)
			})
		}
	}
}

// A first try of which nothing is known, and a second one that could not be sent: what the first
// has done is still not known.
func TestReplyLostThenRefused(t *testing.T) {
	t.Parallel()
	operations := map[string]func(ctx context.Context, l *lossy, lock *redislock.Lock) error{
		"refresh": func(ctx context.Context, _ *lossy, lock *redislock.Lock) error { return lock.Refresh(ctx, long) },
		"release": func(ctx context.Context, _ *lossy, lock *redislock.Lock) error { return lock.Release(ctx) },
	}
	for operation, do := range operations {
		t.Run(operation, func(t *testing.T) {
			t.Parallel()
			l := newLossy(t, persistent)
			lock := l.obtain(t, l.key)
			l.on(operation, func(int) {
				l.relay.CutReplies()
				l.relay.Refuse(true)
			})
			unknownOutcome(t, do(t.Context(), l, lock))
			l.relay.OnRequest(nil)
			l.relay.Refuse(false)
			_ = lock.Release(t.Context())
			l.freed(t)
		})
	}
}

// A refusal that is known must not hide that of a later request nothing is known: the key may have
// become free meanwhile, and ours.
func TestObtainReplyLostAfterConflict(t *testing.T) {
	t.Parallel()
	l := newLossy(t, impatient)
	other := must[*redislock.Lock](t)(redislock.Obtain(t.Context(), l.direct, []string{l.key}, long, nil))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	l.on("obtain", func(n int) {
		if n == 2 {
			_ = other.Release(context.Background())
			l.relay.CutReplies()
		}
	})
	// The wait after the second request is the one in which ctx ends.
	asked := 0
	opt := &redislock.Options{RetryStrategy: func() backoff.BackOff {
		return nextBackOff(func() time.Duration {
			if asked++; asked == 2 {
				cancel()
			}
			return 10 * time.Millisecond
		})
	}}
	_, err := l.client.Obtain(ctx, []string{l.key}, long, opt)
	wantIs(t, err, context.Canceled)
	unknownOutcome(t, err)
	l.freed(t)
}

// nextBackOff is a backoff.BackOff with nothing to reset.
type nextBackOff func() time.Duration

func (n nextBackOff) NextBackOff() time.Duration { return n() }
func (n nextBackOff) Reset()                     {}

// DESIGN section 11: reply later than the TTL, a dead lock returned as live.
func TestObtainReplyLate(t *testing.T) {
	t.Parallel()
	const ttl = 400 * time.Millisecond
	delays := map[string]func(r *redistest.Relay, d time.Duration){
		"reply":   (*redistest.Relay).DelayReplies,
		"request": (*redistest.Relay).DelayRequests,
	}
	for name, delay := range delays {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLossy(t, func(*redis.Options) {})
			l.on("obtain", func(int) { delay(l.relay, ttl+50*time.Millisecond) })
			lock, err := l.client.Obtain(t.Context(), []string{l.key}, ttl, nil)
			answered := time.Now()
			delay(l.relay, 0)
			l.relay.OnRequest(nil)
			wantIs(t, err, redislock.ErrNotObtained)
			if lock != nil {
				t.Error("got a lock whose time was over")
			}
			l.freed(t)
			if took := time.Since(answered); name == "request" && took > ttl/2 {
				t.Errorf("the key was free %v after the answer, want it released, not expired", took)
			}
		})
	}
}

// DESIGN section 11: a delayed Obtain lands after its own clean-up.
func TestObtainLandsAfterCleanUp(t *testing.T) {
	t.Parallel()
	const delay = 700 * time.Millisecond
	obtain := map[string]func(ctx context.Context, l *lossy) error{
		"time-out": func(ctx context.Context, l *lossy) error {
			_, err := l.client.Obtain(ctx, []string{l.key}, long, nil)
			return err
		},
		"cancelled": func(ctx context.Context, l *lossy) error {
			ctx, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
			defer cancel()
			_, err := l.client.Obtain(ctx, []string{l.key}, long, nil)
			if !errors.Is(err, context.DeadlineExceeded) {
				return fmt.Errorf("not a time-out: %w", err)
			}
			return err
		},
		"read": func(ctx context.Context, l *lossy) error {
			_, err := l.client.ObtainRead(ctx, []string{l.key}, long, nil)
			return err
		},
	}
	for name, obtain := range obtain {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLossy(t, impatient)
			var obtained, cleaned sync.Once
			overtaken, landed := make(chan struct{}), make(chan struct{})
			l.relay.OnRequest(func(name string, args []string) {
				l.relay.DelayRequests(0)
				switch {
				case name != "EVALSHA" && name != "EVAL":
				case operationOf(name, args) == "release":
					first := false
					cleaned.Do(func() { close(overtaken); first = true })
					if !first {
						<-landed // or it could be over before anybody sees it
					}
				default:
					obtained.Do(func() { l.relay.DelayRequests(delay) })
				}
			})
			wantIs(t, obtain(t.Context(), l), redislock.ErrUnknownOutcome)
			select {
			case <-overtaken:
			case <-time.After(5 * time.Second):
				t.Fatal("there was no clean-up")
			}
			if l.locked(t) {
				t.Fatal("the request was not overtaken by its clean-up")
			}
			func() {
				defer close(landed)
				eventually(t, 5*time.Second, "the request has landed", func() bool { return l.locked(t) })
			}()
			l.freed(t)
		})
	}
}

// An earlier try of an Obtain that succeeded lands after its Release.
func TestObtainTryLandsAfterRelease(t *testing.T) {
	t.Parallel()
	l := newLossy(t, persistent)
	landed := make(chan struct{})
	var tries, releases atomic.Int64
	l.relay.OnRequest(func(name string, args []string) {
		l.relay.DelayRequests(0)
		switch operationOf(name, args) {
		case "obtain":
			if tries.Add(1) == 1 {
				l.relay.DelayRequests(time.Second)
			}
		case "release":
			if releases.Add(1) > 1 {
				<-landed // a clean-up: or it could be over before anybody sees it
			}
		}
	})
	lock := l.obtain(t, l.key)
	noError(t, lock.Release(t.Context()))
	if l.locked(t) {
		t.Fatal("the key is there after its release, want it free")
	}
	func() {
		defer close(landed)
		eventually(t, 5*time.Second, "the first try has landed", func() bool { return l.locked(t) })
	}()
	l.freed(t)
}

// DESIGN section 11: reply of Release lost, resent by the client: "not held" although it worked.
func TestReleaseReplyLost(t *testing.T) {
	t.Parallel()
	faults := map[string]func(r *redistest.Relay, n int){
		"dropped": func(r *redistest.Relay, n int) { r.DropReplies(n == 1) },
		"cut after": func(r *redistest.Relay, n int) {
			if n == 1 {
				r.CutReplies()
			}
		},
	}
	for name, spoil := range faults {
		t.Run(name+"/again", func(t *testing.T) {
			t.Parallel()
			l := newLossy(t, persistent)
			lock := l.obtain(t, l.key)
			l.on("release", func(n int) { spoil(l.relay, n) })
			noError(t, lock.Release(t.Context()))
			if l.locked(t) {
				t.Error("the key is there after its release")
			}
		})
		t.Run(name+"/once", func(t *testing.T) {
			t.Parallel()
			l := newLossy(t, impatient)
			lock := l.obtain(t, l.key)
			l.on("release", func(n int) { spoil(l.relay, n) })
			unknownOutcome(t, lock.Release(t.Context()))
			l.freed(t)
		})
	}
	t.Run("request lost, once", func(t *testing.T) {
		t.Parallel()
		l := newLossy(t, impatient)
		lock := l.obtain(t, l.key)
		l.on("release", func(n int) {
			if n == 1 {
				l.relay.Cut()
			}
		})
		unknownOutcome(t, lock.Release(t.Context()))
		l.freed(t)
	})
}

func TestReleaseTellsARealLoss(t *testing.T) {
	t.Parallel()
	clients := map[string]func(rdb *redis.Client) redis.Scripter{
		"client":   func(rdb *redis.Client) redis.Scripter { return rdb },
		"scripter": func(rdb *redis.Client) redis.Scripter { return onlyScripter{rdb} },
	}
	for name, wrap := range clients {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rdb := redistest.Start(t, redistest.Redis).Client(t) // one that knows no script
			client := redislock.New(wrap(rdb))
			t.Cleanup(client.Close)
			lock := must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{t.Name()}, long, nil))
			noError(t, rdb.Set(t.Context(), t.Name(), "somebody", long).Err())
			err := lock.Release(t.Context())
			wantIs(t, err, redislock.ErrLockNotHeld)
			if !strings.Contains(err.Error(), fmt.Sprintf("%q", t.Name())) {
				t.Errorf("got error %v, want one that names the key", err)
			}
			if got := rdb.Get(t.Context(), t.Name()).Val(); got != "somebody" {
				t.Errorf("got value %q after the release, want that of the new holder", got)
			}
		})
	}
}

// DESIGN section 11: Release on a cancelled ctx leaves the key.
func TestReleaseCancelled(t *testing.T) {
	t.Parallel()
	t.Run("before", func(t *testing.T) {
		t.Parallel()
		l := newLossy(t, persistent)
		lock := l.obtain(t, l.key)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		noError(t, lock.Release(ctx))
		if l.locked(t) {
			t.Error("the key is there after its release")
		}
	})
	t.Run("while it is under way", func(t *testing.T) {
		t.Parallel()
		l := newLossy(t, persistent)
		lock := l.obtain(t, l.key)
		ctx, cancel := context.WithCancel(t.Context())
		l.on("release", func(int) { cancel() })
		noError(t, lock.Release(ctx))
		if l.locked(t) {
			t.Error("the key is there after its release")
		}
	})
	t.Run("while the server cannot be reached", func(t *testing.T) {
		t.Parallel()
		l := newLossy(t, persistent)
		lock := l.obtain(t, l.key)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		l.relay.Blackhole(true)
		unknownOrTimeOut := lock.Release(ctx)
		wantIs(t, unknownOrTimeOut, redislock.ErrUnknownOutcome)
		wantIs(t, unknownOrTimeOut, context.DeadlineExceeded)
		if !l.locked(t) {
			t.Fatal("the key is free, want the release to be still to come")
		}
		l.relay.Blackhole(false)
		l.freed(t)
	})
}

// A cancelled ctx at any moment leaves nothing locked: as each command passes, before it, after it.
func TestObtainCancelledAtEachCommand(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"write", "set", "read", "intent"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			b := redistest.Shared(t, redistest.Redis)
			relay, direct := redistest.NewRelay(t, b.Addr()), b.Client(t)
			for step := range 8 { // dialling is HELLO and CLIENT; then the scripts
				for _, after := range []bool{false, true} {
					prefix := fmt.Sprintf("%s:%d:%t:", t.Name(), step, after)
					cancelAt(t, relay, step, after, kind, prefix)
					eventually(t, 2*time.Second, "no key of "+prefix, func() bool {
						return len(must[[]string](t)(direct.Keys(t.Context(), "*"+prefix+"*").Result())) == 0
					})
				}
			}
		})
	}
}

// cancelAt obtains over a new connection and cancels at the step'th command, or a moment after it.
func cancelAt(t *testing.T, relay *redistest.Relay, step int, after bool, kind, prefix string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	rdb := redis.NewClient(&redis.Options{Addr: relay.Addr()})
	defer rdb.Close()
	client := redislock.New(rdb)
	defer client.Close()
	var n atomic.Int64
	relay.OnRequest(func(string, []string) {
		switch {
		case int(n.Add(1))-1 != step:
		case after:
			relay.DelayReplies(10 * time.Millisecond)
			time.AfterFunc(5*time.Millisecond, cancel)
		default:
			cancel()
		}
	})
	defer relay.OnRequest(nil)
	defer relay.DelayReplies(0)
	lock, err := obtainKind(ctx, client, kind, prefix)
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("step %d: got error %v, want a cancellation", step, err)
	}
	if err == nil {
		noError(t, lock.Release(ctx))
	}
}

// obtainKind obtains a lock of some kind on keys with the prefix.
func obtainKind(ctx context.Context, client *redislock.Client, kind, prefix string) (*redislock.Lock, error) {
	switch kind {
	case "set":
		return client.Obtain(ctx, []string{prefix + "a", prefix + "b", prefix + "c"}, long, nil)
	case "read":
		return client.ObtainMixed(ctx, []string{prefix + "a"}, []string{prefix + "b"}, long, nil)
	case "intent":
		return client.Obtain(ctx, []string{prefix + "a"}, long, &redislock.Options{
			Intent: true, RetryStrategy: redislock.LinearBackoff(time.Millisecond),
		})
	}
	return client.Obtain(ctx, []string{prefix + "a"}, long, nil)
}

func TestObtainCancelledAtRandom(t *testing.T) {
	t.Parallel()
	for _, batched := range []bool{true, false} {
		t.Run(fmt.Sprintf("free, batched %t", batched), func(t *testing.T) {
			t.Parallel()
			client, rdb := cancelled(t, batched)
			var wg sync.WaitGroup
			for g := range 8 {
				wg.Go(func() {
					for i := range 100 {
						cancelAtRandom(t, client, fmt.Sprintf("%s:%d:%d", t.Name(), g, i))
					}
				})
			}
			wg.Wait()
			eventually(t, 5*time.Second, "nothing is locked", func() bool {
				return len(must[[]string](t)(rdb.Keys(t.Context(), "*"+t.Name()+":*").Result())) == 0
			})
		})
		t.Run(fmt.Sprintf("held, batched %t", batched), func(t *testing.T) {
			t.Parallel()
			client, rdb := cancelled(t, batched)
			lock := must[*redislock.Lock](t)(redislock.Obtain(t.Context(), rdb, []string{t.Name()}, long, nil))
			for range 200 {
				cancelAtRandom(t, client, t.Name())
			}
			noError(t, lock.Release(t.Context()))
			eventually(t, 5*time.Second, "nothing is locked", func() bool {
				return len(must[[]string](t)(rdb.Keys(t.Context(), "*"+t.Name()+"*").Result())) == 0
			})
		})
	}
}

func cancelled(t *testing.T, batched bool) (*redislock.Client, *redis.Client) {
	t.Helper()
	rdb := redistest.Shared(t, redistest.Redis).Client(t)
	var opts []redislock.ClientOption
	if !batched {
		opts = append(opts, redislock.WithoutBatching())
	}
	client := redislock.New(rdb, opts...)
	t.Cleanup(client.Close)
	return client, rdb
}

func cancelAtRandom(t *testing.T, client *redislock.Client, key string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.IntN(600))*time.Microsecond)
	defer cancel()
	lock, err := client.Obtain(ctx, []string{key}, long, &redislock.Options{
		Intent: rand.IntN(2) == 0, RetryStrategy: redislock.LinearBackoff(100 * time.Microsecond),
	})
	switch {
	case err == nil:
		if err := lock.Release(ctx); err != nil {
			t.Errorf("release: %v", err)
		}
	case !errors.Is(err, context.DeadlineExceeded):
		t.Errorf("got error %v, want a time-out", err)
	}
}

// DESIGN section 11: a third of the contended time-outs did not match ErrNotObtained.
func TestContendedTimeOuts(t *testing.T) {
	t.Parallel()
	for _, batched := range []bool{true, false} {
		t.Run(fmt.Sprintf("batched %t", batched), func(t *testing.T) {
			t.Parallel()
			client, rdb := cancelled(t, batched)
			lock := must[*redislock.Lock](t)(redislock.Obtain(t.Context(), rdb, []string{t.Name()}, long, nil))
			defer func() { _ = lock.Release(t.Context()) }()
			var wg sync.WaitGroup
			for range 16 {
				wg.Go(func() {
					for range 40 {
						ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.IntN(5000))*time.Microsecond)
						_, err := client.Obtain(ctx, []string{t.Name()}, long, &redislock.Options{
							RetryStrategy: redislock.LinearBackoff(200 * time.Microsecond),
						})
						cancel()
						if !errors.Is(err, redislock.ErrNotObtained) || !errors.Is(err, context.DeadlineExceeded) {
							t.Errorf("got error %v, want ErrNotObtained and the time-out", err)
							return
						}
					}
				})
			}
			wg.Wait()
		})
	}
}

// A ctx that ends while the call waits behind others must not make its outcome unknown: it is
// answered, or was never sent.
func TestContendedTimeOutInTheQueue(t *testing.T) {
	t.Parallel()
	l := newLossy(t, func(*redis.Options) {})
	_ = l.obtain(t, l.key)
	var hook redislock.Options
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	hook.RetryStrategy = redislock.LinearBackoff(5 * time.Millisecond)
	l.rdb.AddHook(beforeProcess(func(cmd redis.Cmder) {
		var args []string
		for _, arg := range cmd.Args()[1:] {
			args = append(args, fmt.Sprint(arg))
		}
		if operationOf(strings.ToUpper(cmd.Name()), args) == "obtain" {
			cancel() // the library has looked at ctx, go-redis has not yet
		}
	}))
	_, err := l.client.Obtain(ctx, []string{l.key}, long, &hook)
	wantIs(t, err, context.Canceled)
	wantIs(t, err, redislock.ErrNotObtained)
}

// beforeProcess is a hook that sees each single command before it is sent.
type beforeProcess func(cmd redis.Cmder)

func (b beforeProcess) DialHook(next redis.DialHook) redis.DialHook { return next }

func (b beforeProcess) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (b beforeProcess) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		b(cmd)
		return next(ctx, cmd)
	}
}

func TestCustomCause(t *testing.T) {
	t.Parallel()
	l := newLossy(t, func(*redis.Options) {})
	_ = l.obtain(t, l.key)
	cause := errors.New("the shop is closed")
	ctx, cancel := context.WithCancelCause(t.Context())
	l.on("obtain", func(n int) {
		if n == 3 {
			cancel(cause)
		}
	})
	_, err := l.client.Obtain(ctx, []string{l.key}, long, &redislock.Options{
		RetryStrategy: redislock.LinearBackoff(time.Millisecond),
	})
	wantIs(t, err, cause)
	_ = wantConflict(t, err, l.key, redislock.ModeWrite)
}

// The clean-up of an Obtain of which nothing is known must not take the keys from the next Obtain
// of the same token.
func TestTokenAfterUnknownOutcome(t *testing.T) {
	t.Parallel()
	t.Run("clean-up after", func(t *testing.T) {
		t.Parallel()
		l := newLossy(t, impatient)
		opt := &redislock.Options{Token: t.Name()}
		l.on("obtain", func(n int) {
			if n == 1 {
				l.relay.CutReplies()
			}
		})
		_, err := l.client.Obtain(t.Context(), []string{l.key}, long, opt)
		unknownOutcome(t, err)
		lock := must[*redislock.Lock](t)(l.client.Obtain(t.Context(), []string{l.key}, long, opt))
		stillHeld(t, l, lock, 500*time.Millisecond)
	})
	t.Run("clean-up under way", func(t *testing.T) {
		t.Parallel()
		l := newLossy(t, impatient)
		opt := &redislock.Options{Token: t.Name()}
		held := make(chan struct{})
		var once sync.Once
		l.relay.OnRequest(func(name string, args []string) {
			switch operationOf(name, args) {
			case "obtain":
				once.Do(l.relay.CutReplies)
			case "release":
				l.relay.DelayRequests(100 * time.Millisecond) // within the time-out
				select {
				case <-held:
				default:
					close(held)
				}
			}
		})
		_, err := l.client.Obtain(t.Context(), []string{l.key}, long, opt)
		unknownOutcome(t, err)
		<-held
		l.relay.DelayRequests(0)
		lock := must[*redislock.Lock](t)(l.client.Obtain(t.Context(), []string{l.key}, long, opt))
		stillHeld(t, l, lock, 500*time.Millisecond)
	})
	t.Run("clean-up delayed beyond its own time-out", func(t *testing.T) {
		t.Parallel()
		l := newLossy(t, impatient)
		opt := &redislock.Options{Token: t.Name()}
		delayed := make(chan struct{})
		var cut, delay sync.Once
		l.relay.OnRequest(func(name string, args []string) {
			l.relay.DelayRequests(0)
			switch operationOf(name, args) {
			case "obtain":
				cut.Do(l.relay.CutReplies)
			case "release":
				delay.Do(func() {
					l.relay.DelayRequests(500 * time.Millisecond)
					close(delayed)
				})
			}
		})
		_, err := l.client.Obtain(t.Context(), []string{l.key}, long, opt)
		unknownOutcome(t, err)
		<-delayed
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		lock, err := l.client.Obtain(ctx, []string{l.key}, long, opt)
		if err != nil {
			return // not yet: nothing that could be taken away
		}
		stillHeld(t, l, lock, 800*time.Millisecond)
	})
}

// stillHeld checks for a while that nothing takes the lock away.
func stillHeld(t *testing.T, l *lossy, lock *redislock.Lock, d time.Duration) {
	t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if !l.locked(t) {
			t.Fatal("the lock was taken away by the clean-up of an earlier Obtain")
		}
	}
	noError(t, lock.Release(t.Context()))
	l.freed(t)
}

// A cancelled caller leaves its batch without harming the others.
func TestCancelledCallerLeavesItsBatch(t *testing.T) {
	t.Parallel()
	obtains := map[string]func(c *redislock.Client) obtainFunc{
		"write": func(c *redislock.Client) obtainFunc { return c.Obtain },
		"read":  func(c *redislock.Client) obtainFunc { return c.ObtainRead },
	}
	for mode, obtain := range obtains {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			l := newLossy(t, func(o *redis.Options) { o.MaxRetries = -1 }) // nothing hides behind a retry
			l.relay.DelayReplies(150 * time.Millisecond)                   // so that calls gather behind those under way
			defer l.relay.DelayReplies(0)
			var wg sync.WaitGroup
			for i := range 40 {
				wg.Go(func() { oneOfABatch(t, obtain(l.client), fmt.Sprintf("%s:%d", l.key, i), i%2 == 1) })
			}
			wg.Wait()
			l.relay.DelayReplies(0)
			eventually(t, 5*time.Second, "nothing is locked", func() bool {
				return len(must[[]string](t)(l.direct.Keys(t.Context(), l.key+":*").Result())) == 0
			})
		})
	}
}

type obtainFunc = func(context.Context, []string, time.Duration, *redislock.Options) (*redislock.Lock, error)

// oneOfABatch obtains and releases, or leaves soon.
func oneOfABatch(t *testing.T, obtain obtainFunc, key string, leaves bool) {
	t.Helper()
	ctx := t.Context()
	if leaves {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Millisecond)
		defer cancel()
	}
	lock, err := obtain(ctx, []string{key}, long, nil)
	switch {
	case leaves && !errors.Is(err, context.DeadlineExceeded):
		t.Errorf("got error %v, want a time-out", err)
	case !leaves && err != nil:
		t.Errorf("got error %v of a call whose neighbour was cancelled", err)
	case !leaves:
		if err := lock.Release(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestScriptFlushIsInvisible(t *testing.T) {
	t.Parallel()
	rdb := redistest.Start(t, redistest.Redis).Client(t)
	client := redislock.New(rdb)
	t.Cleanup(client.Close)
	over, flushed := make(chan struct{}), make(chan int)
	go func() {
		for n := 1; ; n++ {
			select {
			case <-over:
				flushed <- n
				return
			default:
				rdb.ScriptFlush(context.Background())
			}
		}
	}()
	var wg sync.WaitGroup
	for g := range 16 {
		wg.Go(func() {
			for i := range 40 {
				if err := cycle(t.Context(), client, fmt.Sprintf("%s:%d:%d", t.Name(), g, i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	close(over)
	if n := <-flushed; n < 10 {
		t.Errorf("the scripts were flushed only %d times", n)
	}
	if n := rdb.DBSize(t.Context()).Val(); n != 0 {
		t.Errorf("%d keys are left", n)
	}
}

// cycle runs every script once over keys with the prefix.
func cycle(ctx context.Context, client *redislock.Client, prefix string) error {
	lock, err := client.Obtain(ctx, []string{prefix + "{t}a", prefix + "{t}b"}, long, nil)
	if err != nil {
		return err
	}
	_, ttlErr := lock.TTL(ctx)
	err = errors.Join(ttlErr, lock.Refresh(ctx, long), lock.Downgrade(ctx))
	states, inspectErr := client.Inspect(ctx, prefix+"{t}a", prefix+"{t}b")
	if inspectErr == nil && (states[0].Mode != redislock.ModeRead || states[1].Mode != redislock.ModeRead) {
		inspectErr = fmt.Errorf("inspect: got %+v, want two keys that are read", states)
	}
	err = errors.Join(err, inspectErr, lock.Upgrade(ctx), lock.Release(ctx))
	mixed, mixedErr := client.ObtainMixed(ctx, []string{prefix + "{t}a"}, []string{prefix + "{t}b"}, long, nil)
	if mixedErr != nil {
		return errors.Join(err, mixedErr)
	}
	return errors.Join(err, mixed.Release(ctx))
}

// onlyScripter is a redis.Scripter that cannot do anything else.
type onlyScripter struct{ redis.Scripter }

func TestClientsThatDoNotBatch(t *testing.T) {
	t.Parallel()
	rdb := redistest.Shared(t, redistest.Redis).Client(t)
	clients := map[string]*redislock.Client{
		"scripter":         redislock.New(onlyScripter{rdb}),
		"without batching": redislock.New(rdb, redislock.WithoutBatching()),
	}
	for name, client := range clients {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			t.Cleanup(client.Close)
			var wg sync.WaitGroup
			for g := range 16 {
				wg.Go(func() {
					for i := range 10 {
						if err := cycle(t.Context(), client, fmt.Sprintf("%s:%d:%d", t.Name(), g, i)); err != nil {
							t.Error(err)
						}
					}
				})
			}
			wg.Wait()
			lock := must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{t.Name()}, long, nil))
			_, err := client.Obtain(t.Context(), []string{t.Name()}, long, nil)
			_ = wantConflict(t, err, t.Name(), redislock.ModeWrite)
			noError(t, lock.Release(t.Context()))
		})
	}
}

// Without batching no two calls share a pipeline; with it they do.
func TestBatchingCanBeSwitchedOff(t *testing.T) {
	t.Parallel()
	for _, batched := range []bool{true, false} {
		t.Run(fmt.Sprintf("batched %t", batched), func(t *testing.T) {
			t.Parallel()
			client, rdb := cancelled(t, batched)
			var pipelines atomic.Int64
			rdb.AddHook(pipelineCounter{&pipelines})
			var wg sync.WaitGroup
			for g := range 32 {
				wg.Go(func() {
					for i := range 10 {
						if err := cycle(t.Context(), client, fmt.Sprintf("%s:%d:%d", t.Name(), g, i)); err != nil {
							t.Error(err)
						}
					}
				})
			}
			wg.Wait()
			if got := pipelines.Load(); (got > 0) != batched {
				t.Errorf("got %d pipelines", got)
			}
		})
	}
}

// pipelineCounter is a hook that counts pipelines.
type pipelineCounter struct{ n *atomic.Int64 }

func (c pipelineCounter) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (c pipelineCounter) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }
func (c pipelineCounter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if strings.HasPrefix(cmds[0].Name(), "eval") { // go-redis opens connections with pipelines
			c.n.Add(1)
		}
		return next(ctx, cmds)
	}
}
