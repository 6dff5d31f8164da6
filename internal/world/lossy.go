package world

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// A Lossy is a Client of a real server behind a relay. The relay can lose, hold and delay what passes.
type Lossy struct {
	Relay  *redistest.Relay
	Direct *redis.Client // goes past the relay
	RDB    *redis.Client // goes through the relay, as Client does
	Client *redislock.Client
	Key    string // of this test alone
}

// ReplyTimeout is the time after which a reply is taken for lost. It is longer than a busy machine needs for a reply that
// comes.
const ReplyTimeout = time.Second

// Impatient gives up on a reply soon and does not ask again.
func Impatient(o *redis.Options) {
	o.ReadTimeout = ReplyTimeout
	o.MaxRetries = -1
}

// Persistent gives up on a reply soon and asks again, as often as go-redis does by default.
func Persistent(o *redis.Options) { o.ReadTimeout = ReplyTimeout }

// NewLossy makes a client with an open connection to a server that knows the scripts, so that what a test sees pass is
// what it has asked for and nothing else.
func NewLossy(t *testing.T, mod func(*redis.Options)) *Lossy {
	t.Helper()
	return NewLossyAt(t, redistest.Shared(t, redistest.Redis), mod)
}

// NewLossyAt is NewLossy for a given server.
func NewLossyAt(t *testing.T, b redistest.Backend, mod func(*redis.Options)) *Lossy {
	t.Helper()
	l := &Lossy{Relay: redistest.NewRelay(t, b.Addr()), Direct: b.Client(t), Key: t.Name()}
	l.RDB = l.Relay.Client(t, mod)
	l.Client = redislock.New(l.RDB)
	t.Cleanup(func() { l.Direct.Del(context.Background(), l.Key) })
	t.Cleanup(l.Client.Close)
	l.warmUp(t)
	return l
}

// warmUp has the server know the scripts, and the relay a connection, so that the first request of a test is the one
// that it is about. No request of warmUp can be lost because the client has little patience.
func (l *Lossy) warmUp(t *testing.T) {
	t.Helper()
	client := redislock.New(l.Direct)
	defer client.Close()
	for _, obtain := range []func(context.Context, []string, time.Duration, *redislock.Options) (*redislock.Lock, error){
		client.Obtain, client.ObtainRead,
	} {
		warm := check.Must[*redislock.Lock](t)(obtain(t.Context(), []string{l.Key + ":warm"}, Long, nil))
		check.NoError(t, warm.Refresh(t.Context(), Long))
		check.NoError(t, warm.Downgrade(t.Context()))
		check.NoError(t, warm.Release(t.Context()))
	}
	check.Eventually(t, Polled, "a connection", func() bool { return l.RDB.Ping(t.Context()).Err() == nil })
}

// Obtain takes a key at once, for [Long].
func (l *Lossy) Obtain(t *testing.T, key string) *redislock.Lock {
	t.Helper()
	return check.Must[*redislock.Lock](t)(l.Client.Obtain(t.Context(), []string{key}, Long, nil))
}

// Locked reports whether somebody has the key.
func (l *Lossy) Locked(t *testing.T) bool {
	t.Helper()
	return check.Must[int64](t)(l.Direct.Exists(t.Context(), l.Key).Result()) == 1
}

// Freed waits until the key is gone, much less long than until its ttl is over.
func (l *Lossy) Freed(t *testing.T) {
	t.Helper()
	check.Eventually(t, 5*time.Second, "the key is free", func() bool { return !l.Locked(t) })
}

// On calls fn with the number, from 1, of each command of the operation. If fn has the relay drop or delay, that ends
// with the next command of any kind.
func (l *Lossy) On(operation string, fn func(n int)) {
	var n atomic.Int64
	l.Relay.OnRequest(func(name string, args []string) {
		l.Relay.DropReplies(false)
		l.Relay.DelayRequests(0)
		if OperationOf(name, args) == operation {
			fn(int(n.Add(1)))
		}
	})
}

// OperationOf returns the name of the script that a command runs, empty if it runs none.
func OperationOf(name string, args []string) string {
	return check.RunOf(append([]string{name}, args...)...).Script
}

// WantStillHeld checks for a while that nothing takes the lock away, and releases it. The reply to the release may be
// late on a busy machine; then it goes on in the background.
func WantStillHeld(t *testing.T, l *Lossy, lock *redislock.Lock, d time.Duration) {
	t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if !l.Locked(t) {
			t.Fatal("the lock was taken away by what an earlier one has left behind")
		}
	}
	if err := lock.Release(t.Context()); err != nil {
		check.Is(t, err, redislock.ErrUnknownOutcome)
	}
	l.Freed(t)
}

// OnLease has fn send each request for a new lease, of the watchdog or of a Refresh, by calling send.
func OnLease(rdb *redis.Client, fn func(renewal bool, send func() error) error) {
	rdb.AddHook(check.Around{Send: func(cmds []redis.Cmder, send func([]redis.Cmder) error) error {
		for _, cmd := range cmds {
			if run := check.RunIn(cmd); run.Of("refresh") {
				return fn(run.NeverShortens(), func() error { return send(cmds) })
			}
		}
		return send(cmds)
	}})
}
