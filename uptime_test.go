package redislock_test

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// uptime returns for how many whole seconds a server says it has been up.
func uptime(t *testing.T, rdb *redis.Client) int {
	t.Helper()
	info := must[string](t)(rdb.Info(t.Context(), "server").Result())
	return must[int](t)(strconv.Atoi(regexp.MustCompile(`uptime_in_seconds:(\d+)`).FindStringSubmatch(info)[1]))
}

// A server that has come back without its data gives away what others hold, unless it is made to
// wait until they cannot any more.
func TestMinUptime(t *testing.T) {
	t.Parallel()
	const least = 3 * time.Second
	for _, kind := range []redistest.Kind{redistest.Redis, redistest.Valkey} {
		t.Run(fmt.Sprint(kind), func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t, kind)
			rdb := server.Client(t)
			client := newClient(t, rdb)
			held := must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{"a"}, least, nil))
			server.Restart()

			for name, opt := range map[string]redislock.Options{
				"write": {}, "fenced": {Fenced: true}, "intent": {Intent: true}, "metadata": {Metadata: "m"},
			} {
				opt.MinUptime = time.Hour
				lock, err := client.ObtainMixed(t.Context(), []string{"a"}, []string{"b"}, long, &opt)
				conflict := wantConflict(t, err, "a", redislock.ModeRestarted)
				if lock != nil || conflict.TTL <= 0 || conflict.TTL > time.Hour+time.Second {
					t.Errorf("%s: got %+v", name, conflict)
				}
			}
			if n := rdb.DBSize(t.Context()).Val(); n != 0 {
				t.Errorf("%d keys were written", n)
			}
			queued := make(chan error, 1)
			go func() {
				_, err := client.ObtainRead(t.Context(), []string{"queued"}, long, &redislock.Options{Queue: true, MinUptime: least})
				queued <- err
			}()
			lock := must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{"a"}, long, &redislock.Options{
				MinUptime: least, RetryStrategy: redislock.LinearBackoff(time.Minute), // it is cut to what is left
			}))
			if got := uptime(t, rdb); got < int(least.Seconds()) {
				t.Errorf("obtained after %d s", got)
			}
			if at := time.Now(); at.Before(held.Deadline()) {
				t.Errorf("obtained %v before the lease of the former holder was over", held.Deadline().Sub(at))
			}
			noError(t, lock.Release(t.Context()))
			noError(t, <-queued)
		})
	}
}

// An intent of the caller's is not left behind, and a server that does not say is no reason for a
// lock.
func TestMinUptimeRefusal(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t, redistest.Redis)
	w := newWorld(t, server)
	intent := "redislock:intent:{" + w.key("a") + "}"
	noError(t, w.rdb.Set(t.Context(), intent, "mine", long).Err())
	_, err := w.client.Obtain(t.Context(), w.keys("a"), long, &redislock.Options{
		Token: "mine", Intent: true, MinUptime: 300 * 24 * time.Hour,
	})
	wantConflict(t, err, w.key("a"), redislock.ModeRestarted)
	if n := w.rdb.Exists(t.Context(), intent).Val(); n != 0 {
		t.Error("the intent is left")
	}

	mini := newClient(t, redistest.StartMini(t).Client(t))
	_, err = mini.Obtain(t.Context(), []string{"a"}, long, &redislock.Options{MinUptime: time.Second})
	if err == nil || strings.Contains(err.Error(), "compiling") || !strings.Contains(err.Error(), "server") {
		t.Errorf("got error %v, want one of the server", err)
	}
}

// This is what happens without.
func TestRestartWithoutMinUptime(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Redis)
	client := newClient(t, server.Client(t))
	held := must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{"a"}, long, nil))
	server.Restart()
	other := must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{"a"}, long, nil))
	if at := time.Now(); !at.Before(held.Deadline()) || !at.Before(other.Deadline()) {
		t.Error("the locks were not held together")
	}
	wantIs(t, held.Refresh(t.Context(), long), redislock.ErrLockNotHeld)
	noError(t, other.Release(t.Context()))
}

func TestServerOptionsInvalid(t *testing.T) {
	t.Parallel()
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"}) // nobody is asked
	t.Cleanup(func() { _ = rdb.Close() })
	client := newClient(t, rdb)
	for want, opt := range map[string]redislock.Options{
		`redislock: obtain: invalid Replicas: -1`:                                   {Replicas: -1},
		`redislock: obtain: invalid MinUptime: -1ns is not between 0 and 8760h0m0s`: {MinUptime: -1},
	} {
		_, err := client.Obtain(t.Context(), []string{"a"}, long, &opt)
		if err == nil || err.Error() != want {
			t.Errorf("got error %v, want %s", err, want)
		}
	}
	plain := newClient(t, struct{ redis.Scripter }{rdb})
	if _, err := plain.Obtain(t.Context(), []string{"a"}, long, &redislock.Options{Replicas: 1}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("got error %v, want one that is not supported", err)
	}
}
