package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
)

// queue is the option of everybody here.
func queue() *redislock.Options { return &redislock.Options{Queue: true} }

// inLine waits until so many stand in line for the key, and returns them.
func (w *world) inLine(t *testing.T, key string, n int) []redislock.Waiter {
	t.Helper()
	var line []redislock.Waiter
	eventually(t, 5*time.Second, fmt.Sprintf("%d stand in line", n), func() bool {
		line = must[[]redislock.KeyState](t)(w.client.Inspect(t.Context(), key))[0].Line
		return len(line) == n
	})
	return line
}

// wantNoTrace checks that nothing of a lock, or of those who waited for it, is left.
func (w *world) wantNoTrace(t *testing.T, keys ...string) {
	t.Helper()
	for _, key := range keys {
		w.wantFree(t, key, "redislock:line:{"+key+"}", "redislock:fence:{"+key+"}")
	}
}

// A turn is a lock that one of several waiters got.
type turn struct {
	who  string
	lock *redislock.Lock
	err  error
}

// wait has somebody stand in line, and tells when it got the lock.
func (w *world) wait(ctx context.Context, turns chan<- turn, who string, write, read []string) {
	opt := queue()
	opt.Metadata = who
	go func() {
		lock, err := w.client.ObtainMixed(ctx, write, read, long, opt)
		turns <- turn{who, lock, err}
	}()
}

func wantTurn(t *testing.T, turns <-chan turn, who ...string) []*redislock.Lock {
	t.Helper()
	return wantTurnWithin(t, turns, soon, who...)
}

func wantTurnWithin(t *testing.T, turns <-chan turn, within time.Duration, who ...string) []*redislock.Lock {
	t.Helper()
	var locks []*redislock.Lock
	want := make(map[string]bool)
	for _, w := range who {
		want[w] = true
	}
	for range who {
		got, ok := receive(turns, within)
		if !ok {
			t.Fatalf("nobody got the lock, want %v", who)
		}
		noError(t, got.err)
		if !want[got.who] {
			t.Fatalf("it is the turn of %s, want one of %v", got.who, who)
		}
		locks = append(locks, got.lock)
	}
	return locks
}

func wantNobody(t *testing.T, turns <-chan turn) {
	t.Helper()
	select {
	case got := <-turns:
		t.Fatalf("%s got the lock (error: %v), want nobody", got.who, got.err)
	case <-time.After(20 * time.Millisecond):
	}
}

func TestQueue(t *testing.T) {
	scenario(t, func(t *testing.T, w *world) {
		key := w.key("k")
		holder := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), []string{key}, long, queue()))
		turns := make(chan turn, 10)
		for i := range 5 {
			w.wait(t.Context(), turns, fmt.Sprint(i), []string{key}, nil)
			w.inLine(t, key, i+1)
		}
		for i := range 5 {
			wantNobody(t, turns)
			noError(t, holder.Release(t.Context()))
			holder = wantTurn(t, turns, fmt.Sprint(i))[0]
		}
		noError(t, holder.Release(t.Context()))
		w.wantNoTrace(t, key)
	})
}

func TestQueueEndsWithContext(t *testing.T) {
	scenario(t, func(t *testing.T, w *world) {
		key := w.key("k")
		holder := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), []string{key}, long, nil))
		ctx, cancel := context.WithCancelCause(t.Context())
		closed := errors.New("the shop is closed")
		turns := make(chan turn, 1)
		w.wait(ctx, turns, "a", []string{key}, nil)
		w.inLine(t, key, 1)
		cancel(closed)
		got := <-turns
		wantIs(t, got.err, redislock.ErrNotObtained)
		wantIs(t, got.err, closed)
		wantConflict(t, got.err, key, redislock.ModeWrite)
		w.wantFree(t, "redislock:line:{"+key+"}")
		noError(t, holder.Release(t.Context()))
		w.wantNoTrace(t, key)
	})
}

func TestQueueOverlapping(t *testing.T) {
	scenario(t, func(t *testing.T, w *world) {
		a, b, c := w.key("a"), w.key("b"), w.key("c")
		first := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), []string{a, b}, long, queue()))
		turns := make(chan turn, 10)
		w.wait(t.Context(), turns, "bc", []string{b, c}, nil)
		w.inLine(t, c, 1)
		w.wait(t.Context(), turns, "ac", []string{a, c}, nil)
		w.inLine(t, c, 2)
		w.wait(t.Context(), turns, "c", []string{c}, nil)
		w.inLine(t, c, 3)
		_, err := w.client.Obtain(t.Context(), []string{c}, long, nil)
		wantConflict(t, err, c, redislock.ModeQueue)
		noError(t, first.Release(t.Context()))
		bc := wantTurn(t, turns, "bc")[0]
		wantNobody(t, turns)
		noError(t, bc.Release(t.Context()))
		ac := wantTurn(t, turns, "ac")[0]
		wantNobody(t, turns)
		noError(t, ac.Release(t.Context()))
		noError(t, wantTurn(t, turns, "c")[0].Release(t.Context()))
		w.wantNoTrace(t, a, b, c)
	})
}

func TestQueueReaders(t *testing.T) {
	scenario(t, func(t *testing.T, w *world) {
		key := w.key("k")
		holder := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), []string{key}, long, queue()))
		turns := make(chan turn, 10)
		for i, who := range []string{"r1", "r2", "w1", "r3", "r4"} {
			write, read := []string(nil), []string{key}
			if who[0] == 'w' {
				write, read = read, nil
			}
			w.wait(t.Context(), turns, who, write, read)
			w.inLine(t, key, i+1)
		}
		noError(t, holder.Release(t.Context()))
		readers := wantTurn(t, turns, "r1", "r2")
		wantNobody(t, turns)
		noError(t, readers[0].Release(t.Context()))
		wantNobody(t, turns)
		noError(t, readers[1].Release(t.Context()))
		writer := wantTurn(t, turns, "w1")[0]
		wantNobody(t, turns)
		noError(t, writer.Downgrade(t.Context()))
		readers = wantTurn(t, turns, "r3", "r4")
		noError(t, readers[0].Release(t.Context()))
		noError(t, readers[1].Release(t.Context()))
		noError(t, writer.Release(t.Context()))
		w.wantNoTrace(t, key)
	})
}

// "k" and "{k}" are in one slot, and yet have nothing in common.
func TestQueueKeysOfOneTag(t *testing.T) {
	scenario(t, func(t *testing.T, w *world) {
		plain := w.key("k")
		tagged := "{" + plain + "}"
		holder := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), []string{tagged}, long, nil))
		other := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), []string{plain}, long, nil))
		turns := make(chan turn, 1)
		w.wait(t.Context(), turns, "a", []string{tagged}, nil)
		w.inLine(t, tagged, 1)
		noError(t, other.Release(t.Context()))
		wantNobody(t, turns)
		w.wantFree(t, plain)
		noError(t, holder.Release(t.Context()))
		noError(t, wantTurn(t, turns, "a")[0].Release(t.Context()))
		w.wantFree(t, plain, tagged)
	})
}

func TestQueueHammer(t *testing.T) {
	scenario(t, func(t *testing.T, w *world) {
		key := w.key("k")
		var inside, n int
		var mu sync.Mutex
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				for range 20 {
					lock, err := w.client.Obtain(t.Context(), []string{key}, long, queue())
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					inside++
					n++
					if inside > 1 {
						t.Error("two inside")
					}
					mu.Unlock()
					mu.Lock()
					inside--
					mu.Unlock()
					if err := lock.Release(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		w.wantNoTrace(t, key)
	})
}

func TestFence(t *testing.T) {
	scenario(t, func(t *testing.T, w *world) {
		key := w.key("k")
		var last int64
		for range 5 {
			lock := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), []string{key, w.key("x")}, long, &redislock.Options{Fenced: true}))
			if lock.Fence() <= last {
				t.Fatalf("got number %d after %d", lock.Fence(), last)
			}
			last = lock.Fence()
			noError(t, lock.Release(t.Context()))
		}
	})
}
