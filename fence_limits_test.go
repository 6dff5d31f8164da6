package redislock_test

import (
	"errors"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
)

// What cannot have a number is refused before anything is sent.
func TestFenceInvalidKeys(t *testing.T) {
	scenario(t, func(t *testing.T, w *world) {
		sent := &check.Tally{Prefix: "eval"}
		w.rdb.AddHook(sent)
		for name, obtain := range map[string]obtainFunc{"write": w.client.Obtain, "read": w.client.ObtainRead} {
			for _, queues := range []bool{false, true} {
				opt := fenced("")
				opt.Queue = queues
				_, err := obtain(t.Context(), []string{w.key("a"), w.key("a}b")}, long, opt)
				if !errors.Is(err, redislock.ErrInvalidKeys) {
					t.Errorf("%s, queue %t: got error %v", name, queues, err)
				}
			}
		}
		if n := sent.Sent.Load(); n != 0 {
			t.Errorf("%d commands were sent", n)
		}
		lock := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), []string{"{" + w.key("a") + "}b}c"}, long, fenced("")))
		noError(t, lock.Release(t.Context()))
	})
}

// Readers that die while others read do not pile up.
func TestFenceOfDeadReaders(t *testing.T) {
	scenario(t, func(t *testing.T, w *world) {
		given := make(ledger)
		lock := w.take(t, "a", fenced("alive"))
		number := given.enter(t, lock)
		for range 3 {
			for range 100 {
				dead, err := w.client.ObtainRead(t.Context(), w.keys("a"), 50*time.Millisecond, fenced(""))
				if err == nil {
					given.enter(t, dead)
				}
			}
			time.Sleep(60 * time.Millisecond)
		}
		given[w.key("a")] = max(given[w.key("a")], number)
		given.enter(t, w.take(t, "a", fenced("")))
		if n := must[int64](t)(w.rdb.HLen(t.Context(), w.fence("a")).Result()); n > 100 {
			t.Errorf("%d numbers are stored, of 2 readers", n)
		}
		wantNumber(t, w.take(t, "a", fenced("alive")), number)
	})
}
