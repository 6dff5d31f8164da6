package listen_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// A Close ends an attempt of go-redis to connect once more, however long that would go on. The test is in no bubble: Close waits for
// a mutex of go-redis then, and the time of a bubble stands still meanwhile.
func TestCloseEndsConnecting(t *testing.T) {
	p := new(pubsub)
	rdb := redis.NewClient(&redis.Options{
		Addr: "127.0.0.1:0", Protocol: 2, DisableIdentity: true, MaxRetries: -1, DialerRetries: 1, WriteTimeout: -1,
		DialTimeout: time.Hour, Dialer: p.connect,
	})
	t.Cleanup(func() { _ = rdb.Close() })
	r := newRig(t, rdb, p)
	w := r.waiter("waiter", "a")
	w.Subscribe()
	<-w.C()

	connects, giveUp := make(chan struct{}), make(chan struct{})
	began := sync.OnceFunc(func() { close(connects) })
	p.mu.Lock()
	p.dial = func(ctx context.Context) error {
		began()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-giveUp:
			return errors.New("the test is over")
		}
	}
	for _, conn := range p.conns {
		_ = conn.Close()
	}
	p.mu.Unlock()
	<-connects
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		r.Close()
	}()
	select {
	case <-closed:
	case <-time.After(10 * time.Second):
		t.Error("it waits for the connection")
	}
	close(giveUp)
	<-closed
}
