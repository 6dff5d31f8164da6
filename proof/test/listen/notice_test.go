package listen_test

import (
	"errors"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-14de3678/redislock/internal/listen"
)

// notice is one that is heard.
var notice = listen.Notice{Reason: "why", Keys: []string{"a"}}

// A hearer is a listener that notes what it has heard.
type hearer struct {
	listen.Listener
	heard []string
}

func newHearer(key string) *hearer {
	l := new(hearer)
	l.Key, l.Hear = key, func(n listen.Notice) { l.heard = append(l.heard, n.Reason) }
	return l
}

// want checks what it has heard since it last looked.
func (l *hearer) want(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	if !slices.Equal(l.heard, want) {
		t.Errorf("the listener for %q has heard %q, want %q", l.Key, l.heard, want)
	}
	l.heard = nil
}

// A listener hears notices until it does not listen any more, over the connection that waiters have.
func TestListen(t *testing.T) {
	oneServer(t, func(t *testing.T, r *rig) {
		w := r.subscribed(t, "waiter", "a")
		r.wantHeard(t, "subscribe "+wake)
		one, two := newHearer("a"), newHearer("b")
		r.Listen(&one.Listener)
		r.Listen(&two.Listener)
		r.wantHeard(t, "subscribe "+listen.NoticeChannel)
		r.wantOpen(t, 1)
		r.publish(t, listen.NoticeChannel, notice.Text())
		r.publish(t, listen.NoticeChannel, "nonsense")
		r.publish(t, wake, notice.Text())
		one.want(t, "why")
		two.want(t, "why")
		want(t, w, news{subscribed: true})
		w.Quit()
		r.Unlisten(&one.Listener)
		r.Unlisten(&one.Listener)
		r.publish(t, listen.NoticeChannel, notice.Text())
		one.want(t)
		two.want(t, "why")
		time.Sleep(time.Minute)
		r.wantOpen(t, 1)
		r.Unlisten(&two.Listener)
		time.Sleep(4 * time.Second)
		r.wantOpen(t, 1)
		time.Sleep(time.Second)
		r.wantOpen(t, 0)
		wantQuiet(t, r, true)
		r.Unlisten(&two.Listener)

		r.wantHeard(t, slices.Repeat([]string{"subscribe " + listen.NoticeChannel}, 6)...) // whether the server is still there
		r.Listen(&one.Listener)
		r.wantHeard(t, "subscribe "+listen.NoticeChannel)
		r.publish(t, listen.NoticeChannel, notice.Text())
		one.want(t, "why")
	})
}

// Listeners that cannot subscribe try again, one for all of them and later each time, and the first fault of several in a row is
// told.
func TestDeaf(t *testing.T) {
	manyChannels(t, func(t *testing.T, r *rig) {
		var told []error
		r.Deaf(func(err error) { told = append(told, err) })
		r.shards.find(nowhere)
		one, two, gone := newHearer("a"), newHearer("b"), newHearer("c")
		for _, l := range []*hearer{one, two, gone} {
			r.Listen(&l.Listener)
		}
		r.Unlisten(&gone.Listener)
		here := at("", r.shards.Client, r.shards.Client)
		tries := func(wait time.Duration, want int) {
			t.Helper()
			time.Sleep(wait)
			synctest.Wait()
			if r.shards.mu.Lock(); r.shards.asked != want {
				t.Errorf("%d tries, want %d", r.shards.asked, want)
			}
			r.shards.mu.Unlock()
		}
		tries(99*time.Millisecond, 1)
		tries(time.Millisecond, 2)
		tries(199*time.Millisecond, 2)
		tries(time.Millisecond, 3)
		tries(400*time.Millisecond, 4)
		tries(10*time.Minute, 28)
		tries(29*time.Second, 29)
		if len(told) != 1 || !errors.Is(told[0], errNowhere) {
			t.Errorf("was told %v, want %v once", told, errNowhere)
		}
		r.shards.find(here)
		tries(30*time.Second, 2)
		r.wantHeard(t, "subscribe "+listen.NoticeChannel)
		r.publish(t, listen.NoticeChannel, notice.Text())
		one.want(t, "why")
		two.want(t, "why")
		gone.want(t)

		for n := range 3 { // it was heard meanwhile
			r.cut()
			if len(told) != 2+n || !errors.Is(told[1+n], io.EOF) {
				t.Errorf("was told %v, want the end of the connection", told)
			}
			r.wantOpen(t, 0)
			r.forget()
			tries(100*time.Millisecond, 4+2*n)
			r.wantHeard(t, "subscribe "+listen.NoticeChannel)
		}
		r.shards.find(nowhere)
		r.cut()
		tries(100*time.Millisecond, 1)
		r.Close()
		tries(time.Hour, 1)
		r.Listen(&gone.Listener)
		tries(time.Hour, 1)
	})
}

// Two servers that fail at once are one fault.
func TestDeafAtTwoServers(t *testing.T) {
	manyChannels(t, func(t *testing.T, r *rig) {
		there := new(pubsub)
		r.shards.find(at("b", there.client(t), r.shards.Client))
		one, two := newHearer("a"), newHearer("b")
		r.Listen(&one.Listener)
		r.Listen(&two.Listener)
		there.wantOpen(t, 1)
		there.publish(t, listen.NoticeChannel, notice.Text())
		one.want(t)
		two.want(t, "why")
		r.cut()
		there.cut()
		r.wantOpen(t, 0)
		there.wantOpen(t, 0)
		time.Sleep(100 * time.Millisecond)
		r.wantOpen(t, 1)
		there.wantOpen(t, 1)
		r.Unlisten(&one.Listener)
		time.Sleep(5 * time.Second)
		r.wantOpen(t, 0)
		there.wantOpen(t, 1)
	})
}

// A listener that listens again while others wait for a subscription gets it with them.
func TestListenAgainWhileDeaf(t *testing.T) {
	manyChannels(t, func(t *testing.T, r *rig) {
		l, other := newHearer("a"), newHearer("b")
		r.Listen(&l.Listener)
		r.Unlisten(&l.Listener)
		r.shards.find(nowhere)
		r.Listen(&other.Listener)
		r.shards.find(at("", r.shards.Client, r.shards.Client))
		r.Listen(&l.Listener)
		time.Sleep(100 * time.Millisecond)
		r.publish(t, listen.NoticeChannel, notice.Text())
		l.want(t, "why")
		other.want(t, "why")
	})
}

// A Close is no fault of the listeners. It waits for whoever is told of one.
func TestCloseOfListeners(t *testing.T) {
	oneServer(t, func(t *testing.T, r *rig) {
		told := false
		r.Deaf(func(error) {
			time.Sleep(time.Second)
			told = true
		})
		l := newHearer("a")
		r.Listen(&l.Listener)
		r.wantOpen(t, 1)
		r.Close()
		time.Sleep(time.Hour)
		if told {
			t.Error("a Close is told as a fault")
		}
	})
	oneServer(t, func(t *testing.T, r *rig) {
		told := false
		r.Deaf(func(error) {
			time.Sleep(time.Second)
			told = true
		})
		l := newHearer("a")
		r.Listen(&l.Listener)
		synctest.Wait()
		r.cut()
		r.Close()
		if !told {
			t.Error("Close has not waited")
		}
	})
}
