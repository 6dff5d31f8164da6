package redistest_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// relayed is a client behind a relay, and one that goes past it.
type relayed struct {
	*redistest.Relay
	c, direct *redis.Client
	key       string
}

// eachRelayed runs fn behind a relay to a real server and to miniredis. The client
// has one connection for commands and one for pipelines, open already, and doesn't
// repeat commands.
func eachRelayed(t *testing.T, fn func(t *testing.T, r relayed)) {
	t.Helper()
	for _, kind := range []redistest.Kind{redistest.Miniredis, redistest.Redis} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			b := redistest.Shared(t, kind)
			relay := redistest.NewRelay(t, b.Addr())
			r := relayed{relay, relay.Client(t, once), b.Client(t), t.Name()}
			pipe := r.c.Pipeline()
			pipe.Ping(t.Context())
			_, err := pipe.Exec(t.Context())
			if err := errors.Join(err, r.c.Ping(t.Context()).Err()); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { r.direct.Del(context.Background(), r.key) })
			fn(t, r)
		})
	}
}

// incr sends INCR through the relay.
func (r relayed) incr(t *testing.T) error {
	t.Helper()
	return r.c.Incr(t.Context(), r.key).Err()
}

// incrInVain sends INCR through the relay, and wants no answer.
func (r relayed) incrInVain(t *testing.T) {
	t.Helper()
	if err := inVain(r.c).Incr(t.Context(), r.key).Err(); !isTimeout(err) {
		t.Errorf("got %v, want a time-out", err)
	}
}

// value is how often INCR was executed.
func (r relayed) value(t *testing.T) int {
	t.Helper()
	n, err := r.direct.Get(t.Context(), r.key).Int()
	if err != nil && !errors.Is(err, redis.Nil) {
		t.Fatal(err)
	}
	return n
}

// onIncr calls fn for each INCR about to be sent on.
func (r relayed) onIncr(fn func()) {
	r.OnRequest(func(name string, _ []string) {
		if name == "INCR" {
			fn()
		}
	})
}

func TestRelayCounts(t *testing.T) {
	t.Parallel()
	eachRelayed(t, func(t *testing.T, r relayed) {
		ctx := t.Context()
		var mu sync.Mutex
		var seen []string
		r.OnRequest(func(name string, args []string) {
			mu.Lock()
			defer mu.Unlock()
			seen = append(append(seen, name), args...)
		})
		before := r.Requests()
		_, err := r.c.Pipelined(ctx, func(p redis.Pipeliner) error {
			p.Set(ctx, r.key, "a\r\n$b", 0)
			p.Do(ctx, "get", r.key)
			p.Del(ctx, r.key)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Requests() - before; got != 3 {
			t.Errorf("counted %d commands, want 3", got)
		}
		r.OnRequest(nil)
		r.c.Ping(ctx)
		if got := r.Requests() - before; got != 4 {
			t.Errorf("counted %d commands, want 4", got)
		}
		want := []string{"SET", r.key, "a\r\n$b", "GET", r.key, "DEL", r.key}
		mu.Lock()
		defer mu.Unlock()
		if !slices.Equal(seen, want) {
			t.Errorf("hook saw %q, want %q", seen, want)
		}
	})
}

func TestRelayDropReplies(t *testing.T) {
	t.Parallel()
	eachRelayed(t, func(t *testing.T, r relayed) {
		r.DropReplies(true)
		r.incrInVain(t)
		check.Eventually(t, 20*time.Second, "it is executed", func() bool { return r.value(t) == 1 })
		r.DropReplies(false)
		if err := r.incr(t); err != nil || r.value(t) != 2 {
			t.Errorf("got %v and value %d, want 2: each is executed once", err, r.value(t))
		}
	})
}

func TestRelayDelayReplies(t *testing.T) {
	t.Parallel()
	eachRelayed(t, func(t *testing.T, r relayed) {
		r.DelayReplies(80 * time.Millisecond)
		begin := time.Now()
		if err := r.incr(t); err != nil {
			t.Fatal(err)
		}
		if got := time.Since(begin); got < 80*time.Millisecond {
			t.Errorf("reply after %v, want 80ms at least", got)
		}
	})
}

// A delayed request arrives although its client has gone, and after requests that
// were sent later on another connection.
func TestRelayDelayRequests(t *testing.T) {
	t.Parallel()
	eachRelayed(t, func(t *testing.T, r relayed) {
		ctx := t.Context()
		r.DelayRequests(3 * time.Second)
		pipe := inVain(r.c).Pipeline()
		pipe.RPush(ctx, r.key, "1")
		pipe.RPush(ctx, r.key, "2")
		if _, err := pipe.Exec(ctx); !isTimeout(err) {
			t.Fatalf("got %v, want a time-out", err)
		}
		if err := r.c.Close(); err != nil {
			t.Error(err)
		}
		r.DelayRequests(0)
		if err := r.direct.Del(ctx, r.key).Err(); err != nil {
			t.Fatal(err)
		}
		if got := r.direct.LLen(ctx, r.key).Val(); got != 0 {
			t.Fatal("the delayed request was there already")
		}
		check.Eventually(t, 20*time.Second, "the delayed requests arrive", func() bool { return r.direct.LLen(ctx, r.key).Val() == 2 })
		if got := r.direct.LRange(ctx, r.key, 0, -1).Val(); !slices.Equal(got, []string{"1", "2"}) {
			t.Errorf("got order %q", got)
		}
	})
}

func TestRelayHold(t *testing.T) {
	t.Parallel()
	eachRelayed(t, func(t *testing.T, r relayed) {
		held := make(chan struct{})
		r.onIncr(func() { r.HoldRequests(); close(held) })
		before := r.Requests()
		r.incrInVain(t)
		<-held
		if got := r.Requests() - before; got != 0 || r.value(t) != 0 {
			t.Fatalf("%d commands got past", got)
		}
		if err := r.c.Close(); err != nil {
			t.Error(err)
		}
		r.ReleaseRequests()
		check.Eventually(t, 20*time.Second, "what was held arrives", func() bool { return r.value(t) == 1 })
	})
}

func TestRelayCutReplies(t *testing.T) {
	t.Parallel()
	eachRelayed(t, func(t *testing.T, r relayed) {
		ctx := t.Context()
		var mu sync.Mutex
		n := 0
		r.onIncr(func() {
			mu.Lock()
			defer mu.Unlock()
			if n++; n == 2 {
				r.CutReplies()
			}
		})
		// Of a pipeline exactly the second reply and what follows is lost.
		pipe := r.c.Pipeline()
		cmds := []*redis.IntCmd{pipe.Incr(ctx, r.key), pipe.Incr(ctx, r.key), pipe.Incr(ctx, r.key)}
		if _, err := pipe.Exec(ctx); !errors.Is(err, io.EOF) {
			t.Errorf("got %v, want EOF", err)
		}
		if got, cut := cmds[0].Val(), cmds[1].Val(); got != 1 || cut != 0 {
			t.Errorf("got replies %d and %d, want 1 and none", got, cut)
		}
		check.Eventually(t, 20*time.Second, "the server executes all", func() bool { return r.value(t) == 3 })
		if err := r.incr(t); err != nil {
			t.Errorf("after the cut: %v", err)
		}
		// From outside the hook: the next.
		r.CutReplies()
		if err := r.incr(t); !errors.Is(err, io.EOF) || r.value(t) != 5 {
			t.Errorf("got %v and value %d, want EOF and 5", err, r.value(t))
		}
	})
}

func TestRelayCut(t *testing.T) {
	t.Parallel()
	eachRelayed(t, func(t *testing.T, r relayed) {
		sub := r.c.Subscribe(t.Context(), r.key)
		defer sub.Close()
		if _, err := sub.Receive(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.onIncr(r.Cut)
		if err := r.incr(t); err == nil || isTimeout(err) {
			t.Errorf("got %v, want a broken connection", err)
		}
		if _, err := sub.ReceiveTimeout(t.Context(), 20*time.Second); err == nil || isTimeout(err) {
			t.Errorf("subscriber: got %v, want a broken connection", err)
		}
		if got := r.value(t); got != 0 {
			t.Errorf("executed %d times, want 0", got)
		}
		r.OnRequest(nil)
		if err := r.incr(t); err != nil {
			t.Errorf("new connection: %v", err)
		}
	})
}

func TestRelayRefuse(t *testing.T) {
	t.Parallel()
	eachRelayed(t, func(t *testing.T, r relayed) {
		r.Refuse(true)
		r.Refuse(true)
		if !refused(r.Addr()) {
			t.Error("takes a connection")
		}
		if err := r.incr(t); err != nil {
			t.Errorf("open connection: %v", err)
		}
		r.Refuse(false)
		r.Refuse(false)
		if refused(r.Addr()) {
			t.Error("still refuses")
		}
	})
}

func TestRelayBlackhole(t *testing.T) {
	t.Parallel()
	eachRelayed(t, func(t *testing.T, r relayed) {
		ctx := t.Context()
		sub := r.c.Subscribe(ctx, r.key)
		if _, err := sub.Receive(ctx); err != nil {
			t.Fatal(err)
		}
		r.Blackhole(true)
		for range 2 { // on the open connection, then on a new one
			r.incrInVain(t)
		}
		if err := sub.Close(); err != nil {
			t.Error(err)
		}
		if got, err := r.direct.Publish(ctx, r.key, "m").Result(); got != 1 || err != nil {
			t.Errorf("the server knows of %d subscribers, %v; want 1: it can't have heard of the end", got, err)
		}
		r.Blackhole(false)
		check.Eventually(t, 20*time.Second, "the server hears of the end", func() bool { return r.direct.Publish(ctx, r.key, "m").Val() == 0 })
		if err := r.incr(t); err != nil {
			t.Error(err)
		}
		if got := r.value(t); got != 1 {
			t.Errorf("executed %d times, want 1: what was swallowed does not come back", got)
		}
	})
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

func TestRelayCutSome(t *testing.T) {
	t.Parallel()
	eachRelayed(t, func(t *testing.T, r relayed) {
		const n = 4
		var conns []*redis.Conn
		for range n {
			conn := r.Relay.Client(t, once).Conn()
			t.Cleanup(func() { _ = conn.Close() })
			if err := conn.Ping(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
			conns = append(conns, conn)
		}
		asked := 0
		r.CutSome(func() bool { asked++; return asked <= 2 })
		ended := 0
		for _, conn := range conns {
			if conn.Ping(t.Context()).Err() != nil {
				ended++
			}
		}
		// Those of r.c may be among the two.
		if others := asked - n; others < 1 || ended > 2 || ended < 2-others {
			t.Errorf("%d of %d connections, and some of %d others, have ended; want two in all", ended, n, others)
		}
	})
}

func TestRelayRetarget(t *testing.T) {
	t.Parallel()
	first, second := redistest.StartMini(t), redistest.StartMini(t)
	relay := redistest.NewRelay(t, first.Addr())
	before := relay.Client(t, once)
	incr := func(c *redis.Client) int64 { return c.Incr(t.Context(), "n").Val() }
	incr(before)
	relay.Retarget(second.Addr())
	if got := incr(before); got != 2 {
		t.Errorf("over an open connection: %d, want 2", got)
	}
	if got := incr(relay.Client(t)); got != 1 {
		t.Errorf("over a new connection: %d, want 1", got)
	}
}
