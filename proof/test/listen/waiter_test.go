package listen_test

import (
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/listen"
	"github.com/seed-14de3678/redislock/internal/owners"
)

// wantNext checks which channel waiters for a key have; empty if there are none.
func wantNext(t *testing.T, r *rig, key, want string) {
	t.Helper()
	if got, somebody := r.Next(key); got != want || somebody != (want != "") {
		t.Errorf("got the channel %q, %t for %q, want %q", got, somebody, key, want)
	}
}

// A waiter counts for the first key of its set, from its first subscription until it quits.
func TestWaitersOfAKey(t *testing.T) {
	oneServer(t, func(t *testing.T, r *rig) {
		wantNext(t, r, "a", "")
		one, two, never := r.waiter("one", "a", "b"), r.waiter("two", "a"), r.waiter("never", "a")
		never.Quit()
		wantNext(t, r, "a", "")
		one.Subscribe()
		wantNext(t, r, "a", "redislock:wake:hub")
		wantNext(t, r, "b", "")
		if one.Others() || !never.Others() {
			t.Errorf("got others than the one waiter %t, than another %t, want the second alone", one.Others(), never.Others())
		}
		two.Subscribe()
		if !one.Others() {
			t.Error("the second waiter is nobody")
		}
		one.Quit()
		one.Quit()
		never.Quit()
		wantNext(t, r, "a", "redislock:wake:hub")
		if two.Others() || !one.Others() {
			t.Errorf("got others than the one waiter %t, than another %t, want the second alone", two.Others(), one.Others())
		}
		two.Quit()
		wantNext(t, r, "a", "")
	})
	manyChannels(t, func(t *testing.T, r *rig) {
		r.waiter("one", "a").Subscribe()
		wantNext(t, r, "a", "redislock:wake:{a}:hub")
	})
}

// A waiter is granted its keys by whoever knows its secret, once. What makes no sense is for nobody.
func TestMessages(t *testing.T) {
	oneServer(t, func(t *testing.T, r *rig) {
		w, other := r.subscribed(t, "waiter", "a"), r.waiter("other", "a")
		if !other.JoinSubscribed() {
			t.Fatal("the channel is not heard")
		}
		id := "g|" + w.ID
		for _, message := range []string{
			"", "w", "x|" + w.ID[:8], "w|nobody", "h|nobody|1", "g|nobody|1|2", "g|waiter  guess|1|2", id, id + "|1", id + "|x|2", id + "|1|x",
		} {
			r.Deliver(message)
			want(t, w, news{subscribed: true})
		}
		r.publish(t, listen.NoticeChannel, "w|"+w.ID[:8]) // it is a channel of everybody
		want(t, w, news{subscribed: true})

		r.publish(t, w.Channel, "w|"+w.ID[:8])
		want(t, w, news{subscribed: true, wake: true})
		r.publish(t, w.Channel, id+"|7|8")
		want(t, w, news{subscribed: true, granted: listen.Grant{Micros: 7, Number: 8}})
		r.publish(t, w.Channel, id+"|9|10")
		want(t, w, news{subscribed: true, wake: true})
		want(t, other, news{subscribed: true})
	})
}

// Those are asked to ask that wait for one of the keys, and for a lock of the owner if one is given.
func TestAskAgain(t *testing.T) {
	oneServer(t, func(t *testing.T, r *rig) {
		r.AskAgain([]string{"a"}, nil) // of nobody
		of := new(owners.Owner)
		anyone, owned, elsewhere := r.subscribed(t, "anyone", "b", "a"), r.subscribed(t, "owned", "a"), r.subscribed(t, "where", "c")
		want(t, anyone, news{subscribed: true})
		owned.Owner = of
		r.AskAgain([]string{"a", "x"}, nil)
		want(t, anyone, news{subscribed: true, wake: true})
		want(t, owned, news{subscribed: true, wake: true})
		want(t, elsewhere, news{subscribed: true})
		r.AskAgain([]string{"a"}, of)
		want(t, anyone, news{subscribed: true})
		want(t, owned, news{subscribed: true, wake: true})
	})
}

// wantDue checks when a waiter is to ask, from now on.
func wantDue(t *testing.T, w *listen.Waiter, want time.Duration) {
	t.Helper()
	began := time.Now()
	<-w.Due()
	if got := time.Since(began); got != want {
		t.Errorf("it is to ask after %v, want %v", got, want)
	}
}

// A waiter asks again at the first of the times that it has heard of since it asked, and late if nobody confirms its place.
func TestWhenToAsk(t *testing.T) {
	const late = time.Minute
	for name, c := range map[string]struct {
		hears func(t *testing.T, r *rig, w *listen.Waiter)
		want  time.Duration
	}{
		"at its time":    {func(_ *testing.T, _ *rig, w *listen.Waiter) { w.AskAt(5 * time.Second) }, 5 * time.Second},
		"not later":      {func(_ *testing.T, _ *rig, w *listen.Waiter) { w.AskAt(5 * time.Second); w.AskAt(9 * time.Second) }, 5 * time.Second},
		"sooner":         {func(_ *testing.T, _ *rig, w *listen.Waiter) { w.AskAt(5 * time.Second); w.AskAt(time.Second) }, time.Second},
		"not confirmed":  {func(_ *testing.T, _ *rig, w *listen.Waiter) { w.AskLate(time.Hour, late) }, late},
		"before that":    {func(_ *testing.T, _ *rig, w *listen.Waiter) { w.AskLate(time.Second, late) }, time.Second},
		"told sooner":    {func(_ *testing.T, _ *rig, w *listen.Waiter) { w.AskLate(time.Hour, late); w.AskAt(time.Second) }, time.Second},
		"told before":    {func(_ *testing.T, r *rig, w *listen.Waiter) { r.Deliver("h|waiter  |300"); w.AskAt(time.Hour) }, 302 * time.Millisecond},
		"told after":     {func(_ *testing.T, r *rig, w *listen.Waiter) { w.AskAt(time.Hour); r.Deliver("h|waiter  |300") }, 302 * time.Millisecond},
		"told no sooner": {func(_ *testing.T, r *rig, w *listen.Waiter) { w.AskAt(time.Second); r.Deliver("h|waiter  |3000") }, time.Second},
		"told with a grant": {func(_ *testing.T, r *rig, w *listen.Waiter) {
			w.AskAt(time.Hour)
			r.Deliver("g|nobody|1|2|waiter  |300")
		}, 302 * time.Millisecond},
		"told nonsense": {func(_ *testing.T, r *rig, w *listen.Waiter) {
			w.AskAt(time.Second)
			for _, message := range []string{"h|waiter  |x", "h|waiter  |-5", "h|waiter  |1|2", "g|nobody|1|2|waiter  |", "g|nobody|1|2|waiter  "} {
				r.Deliver(message)
			}
		}, time.Second},
		"it has asked": {func(_ *testing.T, _ *rig, w *listen.Waiter) {
			w.AskLate(time.Second, time.Second)
			if w.Ask() {
				t.Error("the channel counts as heard")
			}
			w.AskAt(time.Hour)
		}, time.Hour},
		"confirmed": {func(_ *testing.T, _ *rig, w *listen.Waiter) {
			heard := w.AskLate(time.Hour, late)
			time.Sleep(late / 2)
			w.Confirm(heard, listen.Confirmation{Micros: 1}, late)
		}, late},
	} {
		t.Run(name, func(t *testing.T) {
			oneServer(t, func(t *testing.T, r *rig) {
				r.set(func(string, string) string { return "" })
				w := r.waiter("waiter", "a")
				w.Subscribe()
				c.hears(t, r, w)
				wantDue(t, w, c.want)
				w.Quit()
			})
		})
	}
}

// A confirmation is for the subscription under which the waiter had its place, as long as that is heard.
func TestConfirm(t *testing.T) {
	oneServer(t, func(t *testing.T, r *rig) {
		w := r.subscribed(t, "waiter", "a")
		confirmed := func(subscription int) bool {
			c := listen.Confirmation{Sent: clock.Now(), Micros: 7}
			w.Confirm(subscription, c, time.Minute)
			got := w.News().Confirmed
			if got != c && got != (listen.Confirmation{}) {
				t.Errorf("got %v, want %v", got, c)
			}
			return got == c
		}
		first := w.AskLate(time.Hour, time.Minute)
		w.Subscribe() // once more changes nothing
		want(t, w, news{subscribed: true})
		if !confirmed(first) || confirmed(first+1) || confirmed(first-1) {
			t.Error("want it to be confirmed for its subscription alone")
		}
		r.cut()
		if confirmed(first) {
			t.Error("want no confirmation without a subscription")
		}
		w.Subscribe()
		want(t, w, news{subscribed: true, wake: true})
		if confirmed(first) || !confirmed(first+1) {
			t.Error("want it to be confirmed for the second subscription alone")
		}
		r.Close()
		if confirmed(first + 1) {
			t.Error("want no confirmation of a hub that is closed")
		}
	})
}
