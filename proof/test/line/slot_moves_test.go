package line_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/world"
)

// slotMoves is what a node of a Cluster says while a slot with some of the keys is on its way to another node.
const slotMoves = "-TRYAGAIN Multiple keys request during rehashing of slot\r\n"

// soonInPlace is the answer to a waiter that stands in line, and is to ask again in a second.
const soonInPlace = "*9\r\n:-2\r\n:1\r\n$5\r\nwrite\r\n:60000\r\n$0\r\n\r\n:7\r\n:1\r\n:1000\r\n:1\r\n"

// A request waits until a slot has moved, and only then its Obtain goes on. That of a waiter which has a place does not: its Obtain asks again
// by itself, and soon, and hears meanwhile that it is granted the keys.
func TestSlotMovesMeanwhile(t *testing.T) {
	t.Parallel()
	const held = world.HeldBySomebody
	for name, c := range map[string]struct {
		opt     redislock.Options
		answers []string // to its requests for the keys, until the one after which all is done
		waits   bool     // for the slot
	}{
		"it asks once":             {redislock.Options{Fenced: true}, []string{slotMoves}, true},
		"it enters a line":         {redislock.Options{Queue: true}, []string{held, slotMoves}, true},
		"it has a place in a line": {redislock.Options{Queue: true}, []string{held, soonInPlace, slotMoves}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				var moves, again time.Time
				p := &world.FakeServer{Script: func(run check.Run) string {
					mu.Lock()
					defer mu.Unlock()
					switch {
					case run.Obtain == nil:
						return ":1\r\n"
					case len(c.answers) > 0:
						answer := c.answers[0]
						if c.answers = c.answers[1:]; answer == slotMoves {
							moves = time.Now()
						}
						return answer
					}
					if again = time.Now(); c.opt.Fenced {
						return "*2\r\n:1\r\n:7\r\n"
					}
					return ":1\r\n"
				}}
				client := world.NewClient(t, p.Client(t))
				lock, err := client.Obtain(t.Context(), []string{"k"}, time.Hour, &c.opt)
				check.NoError(t, err)
				const least = 50 * time.Millisecond // that a request waits for a slot
				if took := again.Sub(moves); took >= least != c.waits {
					t.Errorf("it was asked again after %v, want that to be %v or more: %t", took, least, c.waits)
				}
				check.NoError(t, lock.Release(t.Context()))
			})
		})
	}
}
