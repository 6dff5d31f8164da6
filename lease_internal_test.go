package redislock

import (
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

func watchedLock(t *testing.T) *Lock {
	t.Helper()
	client := New(redistest.StartMini(t).Client(t))
	t.Cleanup(client.Close)
	lock, err := client.Obtain(t.Context(), []string{t.Name()}, time.Minute, &Options{Watchdog: true})
	if err != nil {
		t.Fatal(err)
	}
	return lock
}

// A renewal that the server executes before a Refresh that shortens, and that is answered after
// it, must not bring the old deadline back.
func TestRenewalAroundRefresh(t *testing.T) {
	l := watchedLock(t)
	if err := l.enter(t.Context(), "refresh"); err != nil {
		t.Fatal(err)
	}
	sent := clock.Now()
	l.begin(sent, time.Second)
	l.mu.Lock()
	renewal := l.watch.renewalLocked()
	during := l.watch.renewalLocked()
	l.mu.Unlock()
	during.Sent, during.Reply = clock.Now(), int64(1)
	during.Then(&during.Call)
	if left := time.Until(l.Deadline()); left > time.Second {
		t.Errorf("got deadline in %v while a Refresh of 1s is under way", left)
	}
	refresh := refreshCall(t.Context(), l.set, &l.value, time.Second, false)
	refresh.Sent, refresh.Reply = sent, int64(1)
	if err := l.leased(refresh, &leasing{name: "refresh", ttl: time.Second, read: refreshReply}); err != nil {
		t.Fatal(err)
	}
	<-l.change.turn
	renewal.Sent, renewal.Reply = clock.Now(), int64(1)
	renewal.Then(&renewal.Call)
	if left := time.Until(l.Deadline()); left > time.Second {
		t.Errorf("got deadline in %v after a Refresh of 1s", left)
	}
}

// A wall clock that was set back makes no deadline later.
func TestDeadlineAndWallClock(t *testing.T) {
	l := watchedLock(t)
	l.mu.Lock()
	l.deadline = clock.Now().Add(time.Second)
	l.deadline.Wall += time.Hour
	l.mu.Unlock()
	before := l.Deadline()
	l.begin(clock.Now(), time.Minute)
	if after := l.Deadline(); after.After(before) {
		t.Errorf("a Refresh that was not answered moved the deadline by %v", after.Sub(before))
	}
}
