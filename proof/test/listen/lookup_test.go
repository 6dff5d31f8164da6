package listen_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	_ "github.com/seed-14de3678/redislock" // which has the Lua
	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/internal/wire"
)

// onCluster runs fn in virtual time with a hub for a Cluster of one node. warm has the Cluster answer something, and begins to count
// how often the nodes are looked up.
func onCluster(t *testing.T, fn func(t *testing.T, r *rig, warm func() (lookups *atomic.Int64))) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p, lookups := new(pubsub), new(atomic.Int64)
		rdb := redis.NewClusterClient(&redis.ClusterOptions{
			Protocol: 2, DisableIdentity: true, MaxRetries: -1, MaxRedirects: -1, DialerRetries: 1, Dialer: p.connect,
			ClusterSlots: func(context.Context) ([]redis.ClusterSlot, error) {
				lookups.Add(1)
				return []redis.ClusterSlot{{Start: 0, End: 16383, Nodes: []redis.ClusterNode{{Addr: "127.0.0.1:1"}}}}, nil
			},
		})
		t.Cleanup(func() {
			_ = rdb.Close()
			time.Sleep(time.Second) // so long its latest look-up may take
		})
		r := newRig(t, rdb, p)
		fn(t, r, func() *atomic.Int64 {
			value, run := "token", new(proto.Run)
			proto.TTL{Set: proto.Set{Keys: []string{"a"}, Writes: 1}, Value: &value}.Fill(run)
			r.conn.Start(&wire.Call{Wish: wire.Wish{Context: t.Context(), Run: run}})
			time.Sleep(10 * time.Second) // the nodes are looked up once more
			lookups.Store(0)
			return lookups
		})
	})
}

// What a node of a Cluster refuses for good is no news of the Cluster: its nodes are not looked up.
func TestRefusedOnACluster(t *testing.T) {
	const refusal = "-NOPERM this user has no permissions\r\n"
	for name, refuses := range map[string]func(t *testing.T, r *rig){
		"a channel": func(t *testing.T, r *rig) {
			t.Helper()
			w := r.waiter("refused", "b")
			r.set(func(command, channel string) string {
				if channel == w.Channel {
					return refusal
				}
				return done(command, channel)
			})
			w.Subscribe()
			synctest.Wait()
			if err := w.News().Err; err == nil || !strings.HasPrefix(err.Error(), "NOPERM") {
				t.Errorf("got %v, want that it is refused", err)
			}
		},
		"something else": func(t *testing.T, r *rig) {
			t.Helper()
			r.say(t, refusal)
		},
	} {
		t.Run(name, func(t *testing.T) {
			onCluster(t, func(t *testing.T, r *rig, warm func() *atomic.Int64) {
				warm()
				w := r.subscribed(t, "waiter", "a")
				lookups := warm()
				refuses(t, r)
				if time.Sleep(time.Second); lookups.Load() > 0 {
					t.Error("the nodes are looked up")
				}
				if name == "something else" && w.News().Err == nil {
					t.Error("the connection has not ended")
				}
			})
		})
	}
}

// A Close ends the command that gives up a channel as well: it makes no connection any more.
func TestUnsubscribesUntilClose(t *testing.T) {
	test := func(t *testing.T, r *rig) {
		t.Helper()
		r.subscribed(t, "stays", "b")
		r.subscribed(t, "goes", "a").Quit()
		time.Sleep(4 * time.Second)
		var dials, late atomic.Int64
		r.mu.Lock()
		r.dial = func(ctx context.Context) error {
			if dials.Add(1) == 1 {
				<-ctx.Done() // so go-redis has no connection, and the command waits for one
				return ctx.Err()
			}
			if ctx.Err() == nil {
				late.Add(1)
			}
			return errors.New("no connection")
		}
		r.mu.Unlock()
		r.cut()
		time.Sleep(time.Second) // now the channel is given up
		for range 1000 {
			runtime.Gosched()
		}
		if r.Close(); late.Load() > 0 {
			t.Error("a connection is made after that")
		}
	}
	for range 10 { // which of those that wait has the connection first is up to chance
		manyChannels(t, test)
	}
}
