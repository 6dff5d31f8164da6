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
