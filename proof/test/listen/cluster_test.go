package listen_test

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	_ "github.com/seed-14de3678/redislock" // which has the Lua
	"github.com/seed-14de3678/redislock/internal/listen"
	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/internal/wire"
)

// On a Cluster waiters hear channels of sharded pub/sub, once the Cluster has answered anything, and listeners hear a channel of all
// nodes. What is lost there may be news of the Cluster itself, so its nodes are looked up.
func TestCluster(t *testing.T) {
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
		w, l := r.waiter("waiter", "a"), newHearer("a")
		w.Subscribe()
		if n := w.News(); n.Err == nil {
			t.Error("it subscribes before it is known where")
		}
		<-w.C()

		value, run := "token", new(proto.Run)
		proto.TTL{Set: proto.Set{Keys: []string{"a"}, Writes: 1}, Value: &value}.Fill(run)
		r.conn.Start(&wire.Call{Wish: wire.Wish{Context: t.Context(), Run: run}})
		time.Sleep(10 * time.Second) // the nodes are looked up once more
		lookups.Store(0)
		lookedUp := func() {
			t.Helper()
			time.Sleep(time.Second)
			if lookups.Swap(0) == 0 {
				t.Error("the nodes are not looked up")
			}
			r.forget()
		}

		w.Subscribe()
		want(t, w, news{subscribed: true, wake: true})
		r.Listen(&l.Listener)
		stays := r.subscribed(t, "stays", "b")
		r.wantHeard(t, "ssubscribe "+w.Channel, "ssubscribe "+stays.Channel, "subscribe "+listen.NoticeChannel)
		w.Quit()
		time.Sleep(5 * time.Second)
		r.wantHeard(t, "sunsubscribe "+w.Channel)

		r.say(t, done("sunsubscribe", stays.Channel))
		if n := stays.News(); n.Subscribed || n.Err == nil {
			t.Errorf("got %+v, want that its channel has moved", n)
		}
		<-stays.C()
		lookedUp()
		r.cut()
		lookedUp()
		stays.Subscribe()
		want(t, stays, news{subscribed: true, wake: true})
		r.cut()
		if n := stays.News(); !errors.Is(n.Err, io.EOF) {
			t.Errorf("got %+v, want that the connection is lost", n)
		}
	})
}
