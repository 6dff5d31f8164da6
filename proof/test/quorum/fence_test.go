package quorum_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/quorum"
)

var fenced = &redislock.Options{Fenced: true}

// stored returns the greatest number that a server has given, or was given, for a key.
func (w *world) stored(t *testing.T, key string, at int) int64 {
	t.Helper()
	text, err := w.rdbs[at].HGet(t.Context(), "redislock:fence:{"+key+"}", "").Result()
	if err != nil {
		return 0
	}
	return must[int64](t)(strconv.ParseInt(text, 10, 64))
}

// ahead has a server give numbers for "k" that are greater than those that its clock would give.
func (w *world) ahead(t *testing.T, at int, by time.Duration) {
	t.Helper()
	noError(t, w.rdbs[at].HSet(t.Context(), "redislock:fence:{k}", "", time.Now().Add(by).UnixMicro()).Err())
}

// Counters that disagree, and majorities that have one node in common: the numbers grow all the
// same, because each of them is written back.
func TestFenceGrows(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 2, 3, 4, 5} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, n)
			before := int64(0)
			for i := range n {
				w.ahead(t, i, time.Duration(rand.IntN(1000))*time.Hour)
			}
			for range 30 {
				// Any minority is in the way, and takes no part.
				away := rand.Perm(n)[:(n-1)/2]
				others := w.block(t, "k", long, away...)
				lock := must[*quorum.Lock](t)(w.client.Obtain(bounded(t), []string{"k", "l"}, long, fenced))
				if got := lock.Fence(); got <= before {
					t.Fatalf("got number %d after %d", got, before)
				}
				before = lock.Fence()
				knowing := 0
				for i := range n {
					if w.stored(t, "k", i) >= before && w.stored(t, "l", i) >= before {
						knowing++
					}
				}
				if knowing <= n/2 {
					t.Fatalf("%d of %d servers know number %d", knowing, n, before)
				}
				noError(t, lock.Release(bounded(t)))
				for _, other := range others {
					noError(t, other.Release(bounded(t)))
				}
				w.wantHolders(t, "k", 0)
			}
		})
	}
}

// Readers get numbers, too, and a writer after them a greater one.
func TestFenceOfReaders(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3)
	w.ahead(t, 0, time.Hour)
	other := w.block(t, "k", long, 2)
	one := must[*quorum.Lock](t)(w.client.ObtainRead(bounded(t), []string{"k"}, long, fenced))
	w.settled(t)
	noError(t, other[0].Release(bounded(t)))
	w.ahead(t, 2, time.Minute)
	two := must[*quorum.Lock](t)(w.client.ObtainRead(bounded(t), []string{"k"}, long, fenced))
	noError(t, one.Release(bounded(t)))
	noError(t, two.Release(bounded(t)))
	w.wantHolders(t, "k", 0)
	w.block(t, "k", long, 0)
	lock := must[*quorum.Lock](t)(w.client.Obtain(bounded(t), []string{"k"}, long, fenced))
	if lock.Fence() <= one.Fence() || lock.Fence() <= two.Fence() {
		t.Errorf("got number %d after %d and %d", lock.Fence(), one.Fence(), two.Fence())
	}
	noError(t, lock.Release(bounded(t)))
	plain := must[*quorum.Lock](t)(w.client.Obtain(bounded(t), []string{"other"}, long, nil))
	if got := plain.Fence(); got != 0 {
		t.Errorf("got number %d without Fenced", got)
	}
	noError(t, plain.Release(bounded(t)))
}

// A node that answers late gets the number, too.
func TestFenceOfLateNodes(t *testing.T) {
	farBubble(t, 5, 2, func(t *testing.T, w *world, d *distance) {
		w.ahead(t, 0, time.Hour)
		w.block(t, "k", long, 4)
		d.set(500 * time.Millisecond)
		lock := must[*quorum.Lock](t)(w.client.Obtain(bounded(t), []string{"k"}, 2*brisk, &redislock.Options{Fenced: true, Watchdog: true}))
		if got := lock.Nodes(); got != 3 {
			t.Errorf("got %d nodes, want those that are not far", got)
		}
		wantNodes(t, lock, 4)
		w.steal(t, 4)
		wantNodes(t, lock, 5)
		for i := range w.nodes {
			if got := w.stored(t, "k", i); got < lock.Fence() {
				t.Errorf("got number %d at server %d, want %d", got, i, lock.Fence())
			}
		}
		noError(t, lock.Release(bounded(t)))
	})
}

// A lock whose number is not known to a majority is not returned.
func TestFenceNotWritten(t *testing.T) {
	t.Parallel()
	w := relayedWorld(t, 3)
	w.warmUp(t)
	lock := must[*quorum.Lock](t)(w.client.Obtain(bounded(t), []string{"warm"}, long, fenced))
	noError(t, lock.Release(bounded(t)))
	w.wantHolders(t, "warm", 0)
	w.hurry(t, patience)
	for _, i := range []int{1, 2} {
		var asked atomic.Int64
		w.relays[i].OnRequest(func(name string, _ []string) {
			if name == "EVALSHA" && asked.Add(1) == 2 { // the lock is the first
				w.hold(i)
			}
		})
	}
	_, err := w.client.Obtain(bounded(t), []string{"k"}, long, fenced)
	wantOnly(t, err, redislock.ErrUnknownOutcome)
	for _, i := range []int{1, 2} {
		w.relays[i].OnRequest(nil)
	}
	w.release(1, 2)
	w.wantHolders(t, "k", 0)
	w.wantBack(t)
}

// A lock whose lease is over when its number is known to a majority is not returned.
func TestFenceWrittenLate(t *testing.T) {
	farBubble(t, 3, 3, func(t *testing.T, w *world, d *distance) {
		const ttl = 3 * time.Second
		w.client = w.newClient(t, quorum.WithNodeTimeout(soon))
		warm := must[*quorum.Lock](t)(w.client.Obtain(bounded(t), []string{"warm"}, long, fenced))
		wantNodes(t, warm, 3) // now all of them know the scripts
		noError(t, warm.Release(bounded(t)))
		w.wantHolders(t, "warm", 0)
		d.set(ttl * 6 / 10) // one answer is in time, a second is not
		_, err := w.client.Obtain(bounded(t), []string{"k"}, ttl, fenced)
		wantOnly(t, err, redislock.ErrNotObtained)
		if want := "has left nothing of a ttl of 3s"; !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want that the time %s", err, want)
		}
	})
}

// A lock that a majority has lost before its number was known counts as not obtained, and not as lost.
func TestFenceOfLostLock(t *testing.T) {
	for name, lost := range map[string][]int{
		"everywhere":                     {0, 1, 2},
		"at a majority":                  {0, 2},
		"at one, and another is blocked": {1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := relayedWorld(t, 3, quorum.WithNodeTimeout(long))
			w.warmUp(t)
			lock := must[*quorum.Lock](t)(w.client.Obtain(bounded(t), []string{"warm"}, long, fenced))
			wantNodes(t, lock, 3)
			noError(t, lock.Release(bounded(t)))
			w.wantHolders(t, "warm", 0)
			if len(lost) == 1 {
				w.block(t, "k", long, 2)
			}
			for _, i := range lost {
				var asked atomic.Int64
				w.relays[i].OnRequest(func(name string, _ []string) {
					if name == "EVALSHA" && asked.Add(1) == 2 { // the lock is the first
						w.rdbs[i].Del(t.Context(), "k")
					}
				})
			}
			told := &eventLog{}
			client := w.newClient(t, quorum.WithNodeTimeout(long), quorum.WithHooks(told.hooks()))
			_, err := client.Obtain(bounded(t), []string{"k"}, long, &redislock.Options{Fenced: true, Watchdog: true})
			wantOnly(t, err, redislock.ErrNotObtained)
			w.wantHolders(t, "k", max(0, 2-len(lost)))
			client.Close() // what it does in the background is done
			if names, _ := told.take(); names != "refused" {
				t.Errorf("got events %q, want that it was refused, and no loss of what nobody had", names)
			}
		})
	}
}
