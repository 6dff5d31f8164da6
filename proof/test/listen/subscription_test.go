package listen_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/wire"
)

const wake = "redislock:wake:hub"

// wantQuiet checks whether the hub hears any server.
func wantQuiet(t *testing.T, r *rig, want bool) {
	t.Helper()
	if got := r.IsQuiet(); got != want {
		t.Errorf("the hub is quiet: %t, want %t", got, want)
	}
}

// All waiters share one connection, and one subscription if they have one channel. It lasts for a while after the last of them,
// for the next.
func TestOneSubscription(t *testing.T) {
	oneServer(t, func(t *testing.T, r *rig) {
		wantQuiet(t, r, true)
		one, two, three := r.waiter("one", "a"), r.waiter("two", "b"), r.waiter("three", "a")
		if one.JoinSubscribed() {
			t.Error("a channel counts as heard that is not")
		}
		connect := make(chan struct{})
		r.dial = func(context.Context) error { <-connect; return nil }
		one.Subscribe()
		wantQuiet(t, r, false)
		if one.Ask() || two.JoinSubscribed() {
			t.Error("a channel counts as heard that is not yet")
		}
		close(connect)
		want(t, one, news{subscribed: true, wake: true})
		two.Subscribe()
		want(t, two, news{subscribed: true, wake: true})
		if !three.JoinSubscribed() || !three.Ask() {
			t.Error("a channel does not count as heard that is")
		}
		want(t, three, news{subscribed: true})
		r.wantHeard(t, "subscribe "+wake)

		one.Quit()
		two.Quit()
		time.Sleep(6 * time.Second)
		three.Quit()
		for range 3 {
			time.Sleep(4 * time.Second)
			r.wantOpen(t, 1)
			next := r.waiter("next", "a")
			next.Subscribe()
			want(t, next, news{subscribed: true, wake: true})
			next.Quit()
		}
		r.wantHeard(t)
		time.Sleep(5 * time.Second)
		r.wantOpen(t, 0)
		wantQuiet(t, r, true)
		r.wantHeard(t)
	})
}

// Channels that nobody has needed for a while are given up one by one, each in its time, and the connection with the last.
func TestChannelsOfKeys(t *testing.T) {
	manyChannels(t, func(t *testing.T, r *rig) {
		channel := func(key string) string { return "subscribe redislock:wake:{" + key + "}:hub" }
		a, b, c := r.subscribed(t, "a", "a"), r.subscribed(t, "b", "b"), r.subscribed(t, "c", "c")
		r.wantHeard(t, channel("a"), channel("b"), channel("c"))
		r.set(func(command, name string) string {
			if command == "unsubscribe" {
				return "" // it takes its time
			}
			return done(command, name)
		})
		a.Quit()
		time.Sleep(3 * time.Second)
		b.Quit()
		time.Sleep(2 * time.Second)
		r.wantHeard(t, "un"+channel("a"))
		again := r.subscribed(t, "again", "a")
		r.wantHeard(t, channel("a"))
		r.set(nil)
		time.Sleep(3 * time.Second)
		r.wantHeard(t, "un"+channel("b"))
		again.Quit()
		time.Sleep(3 * time.Second)
		c.Quit()
		time.Sleep(4 * time.Second) // a is over, and c is not
		r.wantOpen(t, 1)
		r.wantHeard(t, "un"+channel("a"))
		time.Sleep(time.Second)
		r.wantOpen(t, 0)
		r.wantHeard(t)
	})
}

// While nothing comes, the server is asked whether it is still there, on a channel that is needed. A server that does not answer
// counts as gone.
func TestQuietConnection(t *testing.T) {
	oneServer(t, func(t *testing.T, r *rig) {
		w := r.subscribed(t, "waiter", "a")
		r.wantHeard(t, "subscribe "+wake)
		for range 6 {
			time.Sleep(10 * time.Second)
			r.wantHeard(t, "subscribe "+wake)
			want(t, w, news{subscribed: true})
		}
		r.say(t, done("subscribe", wake)) // go-redis has opened a connection by itself
		want(t, w, news{subscribed: true, wake: true})
		time.Sleep(8 * time.Second)
		w.Quit()
		time.Sleep(4 * time.Second)
		r.wantHeard(t) // nobody needs to know
		w = r.waiter("again", "a")
		w.Subscribe()
		want(t, w, news{subscribed: true, wake: true})
		r.set(func(string, string) string { return "" })
		r.publish(t, wake, "x")
		time.Sleep(19 * time.Second)
		r.wantHeard(t, "subscribe "+wake)
		want(t, w, news{subscribed: true})
		time.Sleep(time.Second)
		synctest.Wait()
		r.wantOpen(t, 0)
		wantQuiet(t, r, true)
		if n := w.News(); n.Subscribed || n.Err == nil {
			t.Errorf("got %+v, want that its channel is not heard any more", n)
		}
	})
}

// A channel that the server refuses, or ends, is lost alone.
func TestLostChannel(t *testing.T) {
	refusal := errors.New("NOPERM no channel for you")
	manyChannels(t, func(t *testing.T, r *rig) {
		r.set(func(command, channel string) string {
			if strings.Contains(channel, "{no") {
				return "-" + refusal.Error() + "\r\n"
			}
			return done(command, channel)
		})
		a, b, no := r.subscribed(t, "a", "a"), r.subscribed(t, "b", "b"), r.waiter("no", "no")
		lost := func(w interface{ C() <-chan struct{} }) {
			t.Helper()
			synctest.Wait()
			if len(w.C()) == 0 {
				t.Error("a waiter was not told that its channel is lost")
			}
		}
		no.Subscribe()
		lost(no)
		if n := no.News(); n.Subscribed || n.Err == nil || n.Err.Error() != refusal.Error() {
			t.Errorf("got %+v, want the refusal", n)
		}
		<-no.C()
		want(t, a, news{subscribed: true})
		r.say(t, done("unsubscribe", b.Channel))
		lost(b)
		if n := b.News(); n.Subscribed || n.Err == nil {
			t.Errorf("got %+v, want that its channel has moved", n)
		}
		<-b.C()
		want(t, a, news{subscribed: true})
		b.Subscribe()
		want(t, b, news{subscribed: true, wake: true})
		r.wantOpen(t, 1)

		other := r.subscribed(t, "other", "a")
		a.NotHeard()
		if n := other.News(); n.Subscribed || n.Err == nil {
			t.Errorf("got %+v, want that its channel is not heard where its keys are", n)
		}
		if n := a.News(); n.Subscribed || n.Err != nil {
			t.Errorf("got %+v, want nothing that it knows", n)
		}
		a.NotHeard() // once more changes nothing
		want(t, b, news{subscribed: true})
		b.NotHeard()
		r.wantOpen(t, 0)
		wantQuiet(t, r, true)
		no.Subscribe()
		lost(no)
		r.wantOpen(t, 0)
		wantQuiet(t, r, true)
		for _, w := range []interface{ Quit() }{a, b, other, no} {
			w.Quit()
		}
		wantNext(t, r, "no", "")
	})
}

// With the connection all its channels are lost, those that are not heard yet as well.
func TestLostConnection(t *testing.T) {
	manyChannels(t, func(t *testing.T, r *rig) {
		heard := r.subscribed(t, "heard", "a")
		r.set(func(string, string) string { return "" })
		not := r.waiter("not", "b")
		not.Subscribe()
		want(t, not, news{})
		r.cut()
		wantQuiet(t, r, true)
		want(t, heard, news{err: io.EOF})
		want(t, not, news{err: io.EOF})
		r.wantOpen(t, 0)
		heard.Quit()

		r.set(nil)
		r.forget()
		not.Subscribe()
		want(t, not, news{subscribed: true, wake: true})
		r.wantHeard(t, "subscribe "+not.Channel)
		r.wantOpen(t, 1)
	})
}

// A server that cannot be reached is tried once, and its waiters are told why.
func TestUnreachable(t *testing.T) {
	oneServer(t, func(t *testing.T, r *rig) {
		gone := errors.New("nobody is there")
		r.dial = func(context.Context) error { return gone }
		w := r.waiter("waiter", "a")
		w.Subscribe()
		want(t, w, news{err: gone})
		if r.dials != 1 {
			t.Errorf("%d connections were tried, want one", r.dials)
		}
	})
}

// A waiter whose key has moved subscribes where it is now.
func TestMovedKey(t *testing.T) {
	manyChannels(t, func(t *testing.T, r *rig) {
		there := new(pubsub)
		to, stays := there.client(t), r.subscribed(t, "stays", "b")
		w := r.subscribed(t, "waiter", "a")
		if !w.Ask() {
			t.Error("the channel does not count as heard")
		}
		r.shards.find(at("a", to, r.shards.Client))
		if w.Ask() {
			t.Error("the channel counts as heard where the key was")
		}
		w.Subscribe()
		want(t, w, news{subscribed: true, wake: true})
		there.wantHeard(t, "subscribe "+w.Channel)
		r.forget()
		time.Sleep(5 * time.Second)
		r.wantHeard(t, "unsubscribe "+w.Channel)
		want(t, stays, news{subscribed: true})

		r.shards.find(nowhere)
		if !w.Ask() {
			t.Error("the channel does not count as heard while it is not known where the key is")
		}
		lost := r.waiter("lost", "x")
		if lost.JoinSubscribed() {
			t.Error("a channel of nowhere counts as heard")
		}
		lost.Subscribe()
		want(t, lost, news{err: errNowhere})
	})
}

// Close tells all waiters, those without a subscription as well, and returns when nothing is under way any more. After that
// nobody subscribes.
func TestClose(t *testing.T) {
	oneServer(t, func(t *testing.T, r *rig) {
		unsubscribed, w := r.subscribed(t, "without", "a"), r.waiter("waiter", "a")
		r.cut()
		want(t, unsubscribed, news{err: io.EOF})
		if !r.Begin() {
			t.Fatal("a hub counts as closed that is not")
		}
		w.Subscribe()
		want(t, w, news{subscribed: true, wake: true})
		began := time.Now()
		time.AfterFunc(time.Second, r.End)
		r.Close()
		if took := time.Since(began); took != time.Second {
			t.Errorf("close took %v, want it to wait for the user of the hub", took)
		}
		want(t, w, news{err: wire.ErrClosed})
		if len(unsubscribed.C()) == 0 {
			t.Error("a waiter without a subscription is not told")
		}
		r.wantOpen(t, 0)
		wantQuiet(t, r, true)
		if r.Begin() {
			t.Error("a hub counts as open that is not")
		}
		dials := r.dials
		w.Subscribe()
		want(t, w, news{err: wire.ErrClosed})
		if r.dials != dials {
			t.Error("a closed hub subscribes")
		}
	})
}

// A Close does not wait for a connection that does not come about.
func TestCloseWhileConnecting(t *testing.T) {
	manyChannels(t, func(t *testing.T, r *rig) {
		r.dial = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		for i := range 3 {
			r.waiter(fmt.Sprint(i), fmt.Sprint(i)).Subscribe()
			synctest.Wait()
		}
		began := time.Now()
		r.Close()
		if took := time.Since(began); took > 0 {
			t.Errorf("close took %v, want it at once", took)
		}
	})
}

// A slowClient takes its time to begin a subscription.
type slowClient struct {
	*redis.Client
	begin chan struct{}
}

func (s *slowClient) Subscribe(ctx context.Context, channels ...string) *redis.PubSub {
	<-s.begin
	return s.Client.Subscribe(ctx, channels...)
}

// A subscription that begins too late for its waiters connects to nobody.
func TestTooLateToConnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := new(pubsub)
		slow := &slowClient{p.client(t), make(chan struct{})}
		r := newRig(t, slow, p)
		w := r.waiter("waiter", "a")
		w.Subscribe()
		w.Quit()
		time.Sleep(6 * time.Second)
		wantQuiet(t, r, true)
		close(slow.begin)
		synctest.Wait()
		if p.dials > 0 {
			t.Errorf("%d connections were made", p.dials)
		}
	})
}
