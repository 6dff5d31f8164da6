package listen_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/listen"
)

// Each server is heard by itself: what happens to one connection is nothing to the others, and a waiter joins those that hear its
// own key.
func TestServersByThemselves(t *testing.T) {
	manyChannels(t, func(t *testing.T, r *rig) {
		there := new(pubsub)
		r.shards.find(at("b", there.client(t), r.shards.Client))
		here, other := r.subscribed(t, "here", "a"), r.subscribed(t, "other", "b")
		if !r.waiter("beside", "b").JoinSubscribed() || r.waiter("nobody", "c").JoinSubscribed() {
			t.Error("want the channel of the one key to be heard, and that of the other not to be")
		}
		r.cut()
		if n := here.News(); n.Err == nil || n.Subscribed {
			t.Errorf("got %+v of a connection that was cut", n)
		}
		want(t, other, news{subscribed: true})
		wantQuiet(t, r, false)
		there.cut()
		wantQuiet(t, r, true)
	})
}

// Channels that are of no use any more end each in its own time, however many there are.
func TestChannelsEndInTheirTime(t *testing.T) {
	manyChannels(t, func(t *testing.T, r *rig) {
		var all []*listen.Waiter
		keys := []string{"a", "b", "c", "d", "e", "f", "g"}
		for _, key := range keys {
			all = append(all, r.subscribed(t, key, key))
		}
		stays := r.subscribed(t, "stays", "stays")
		r.forget()
		for _, w := range all {
			w.Quit()
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(5*time.Second - 700*time.Millisecond)
		for _, key := range keys {
			r.wantHeard(t, "unsubscribe redislock:wake:{"+key+"}:hub")
			time.Sleep(100 * time.Millisecond)
		}
		stays.Quit()
	})
}

// Only a subscription of the listeners ends their row of faults, and it does so for a single one as well.
func TestFaultsOfListenersEnd(t *testing.T) {
	manyChannels(t, func(t *testing.T, r *rig) {
		told := 0
		r.Deaf(func(error) { told++ })
		wantTold := func(want int) {
			t.Helper()
			if synctest.Wait(); told != want {
				t.Errorf("it was told of %d first faults, want %d", told, want)
			}
		}
		here := r.shards.Client
		r.shards.find(func(key string) (*redis.Client, error) {
			if key == "b" {
				return nil, errNowhere
			}
			return here, nil
		})
		l := newHearer("b")
		r.Listen(&l.Listener)
		time.Sleep(time.Second)
		r.subscribed(t, "waiter", "a") // is another channel
		time.Sleep(time.Minute)
		wantTold(1)
		r.shards.find(at("", here, here))
		time.Sleep(time.Minute)
		for n := range 2 {
			r.publish(t, listen.NoticeChannel, notice.Text())
			l.want(t, "why")
			r.cut()
			wantTold(2 + n)
			time.Sleep(100 * time.Millisecond)
		}
	})
}

// Whoever hears nothing any more is told why.
func TestWhyAChannelIsNotHeard(t *testing.T) {
	wantWhy := func(t *testing.T, got error, want string) {
		t.Helper()
		if got == nil || got.Error() != want {
			t.Errorf("got %v, want %q", got, want)
		}
	}
	oneServer(t, func(t *testing.T, r *rig) {
		var deaf error
		r.Deaf(func(err error) { deaf = err })
		l, w, beside := newHearer("a"), r.subscribed(t, "waiter", "a"), r.subscribed(t, "beside", "b")
		r.Listen(&l.Listener)
		r.wantOpen(t, 1)
		w.NotHeard()
		if err := w.News().Err; err != nil {
			t.Errorf("whoever has said so is told: %v", err)
		}
		wantWhy(t, beside.News().Err, "the channel is not heard where its keys are")
		r.say(t, done("unsubscribe", listen.NoticeChannel))
		synctest.Wait()
		wantWhy(t, deaf, "the channel has moved")
	})
}

// A waitingClient begins no subscription before its context has ended.
type waitingClient struct{ *redis.Client }

func (w *waitingClient) Subscribe(ctx context.Context, channels ...string) *redis.PubSub {
	<-ctx.Done()
	return w.Client.Subscribe(ctx, channels...)
}

// A Close waits neither for a client that takes its time to subscribe, nor for a connection that go-redis makes anew.
func TestCloseInTheMiddle(t *testing.T) {
	wantAtOnce := func(t *testing.T, r *rig) {
		t.Helper()
		began := time.Now()
		if r.Close(); time.Since(began) > 0 {
			t.Errorf("close took %v, want it at once", time.Since(began))
		}
	}
	synctest.Test(t, func(t *testing.T) {
		p := new(pubsub)
		r := newRig(t, &waitingClient{p.client(t)}, p)
		r.waiter("waiter", "a").Subscribe()
		synctest.Wait()
		wantAtOnce(t, r)
	})
	oneServer(t, func(t *testing.T, r *rig) {
		r.subscribed(t, "waiter", "a")
		r.mu.Lock()
		r.dial = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		r.mu.Unlock()
		r.cut()
		wantAtOnce(t, r)
	})
}
