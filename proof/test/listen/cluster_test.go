package listen_test

import (
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/internal/listen"
)

// On a Cluster waiters hear channels of sharded pub/sub, once the Cluster has answered anything, and listeners hear a channel of all
// nodes. What is lost there may be news of the Cluster itself, so its nodes are looked up.
func TestCluster(t *testing.T) {
	onCluster(t, func(t *testing.T, r *rig, warm func() *atomic.Int64) {
		w, l := r.waiter("waiter", "a"), newHearer("a")
		w.Subscribe()
		if n := w.News(); n.Err == nil {
			t.Error("it subscribes before it is known where")
		}
		<-w.C()

		lookups := warm()
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
