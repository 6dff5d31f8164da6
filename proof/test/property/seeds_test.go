package property_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// operate does what bytes say, in virtual time.
func operate(t *testing.T, bytes []byte, many int) {
	t.Helper()
	world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
		r := newRun(t, w.RDB, t.Name(), many)
		r.mini = mini.Miniredis()
		r.all(bytes)
	})
}

func (r *run) all(bytes []byte) {
	for c := (&choices{bytes[:min(len(bytes), 300)]}); len(c.bytes) > 0; {
		r.do(c)
	}
	r.end()
}

// end lets everything end, guards and what the process knows of the tokens, too: whoever lives in another virtual time
// would be wrong about that.
func (r *run) end() {
	r.sleep(10 * time.Minute)
	r.settle()
	for _, s := range r.seats {
		if s.lock != nil {
			r.release(s)
		}
	}
	r.settle()
	r.compare()
}

// Whatever is done in which order, Redis holds what the documentation says, and each operation answers accordingly.
func FuzzOperations(f *testing.F) {
	f.Fuzz(func(t *testing.T, bytes []byte) { operate(t, bytes, 1) })
}

// beginnings are what chance would seldom do.
var beginnings = [][]byte{
	{0, 0, 12, 0, 0, 0, 0, 0, 0}, // write locks of all keys, and of no number
	// A key is read for a second. While the answer to an Upgrade, or to a Refresh, is missing the token gets it for longer.
	{3, 0, 1, 0, 0, 0, 0, 0, 3, 8, 0, 2, 0, 0, 2, 0, 0, 0, 0},
	{3, 0, 1, 0, 0, 0, 0, 0, 3, 8, 0, 0, 0, 1, 2, 0, 0, 0, 0},
	// Of two keys one is broken, and a Refresh says so. Another Obtain of the token, with an intent, waits for a third in vain.
	{3, 0, 9, 2, 0, 0, 0, 0, 3, 10, 8, 3, 3, 2, 0, 0, 2, 2, 0, 0, 0, 0, 4, 0, 3, 2, 0, 0, 0, 3},
}

// seeded makes bytes of which none means anything behind one of the beginnings.
func seeded(seed, n int) []byte {
	bytes := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)}).Read(bytes)
	return slices.Concat(beginnings[seed%len(beginnings)], bytes)
}

// The same with bytes of which none means anything.
func TestOperations(t *testing.T) {
	t.Parallel()
	for seed := range 24 {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			operate(t, seeded(seed, 150), 1)
		})
	}
}

// So it is with more keys than a script gives one command.
func TestOperationsOfManyKeys(t *testing.T) {
	t.Parallel()
	operate(t, seeded(0, 60), 1100)
}

// On a real server no lease ends, and what Redis says of one may be as old as the question.
func TestOperationsOfAServer(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Redis)
	// A request that is sent twice may say something else, as a Break does.
	rdb := server.Client(t, func(o *redis.Options) { o.ReadTimeout = time.Minute })
	for seed, many := range []int{1, 1, 1, 1, 1, 1, 1100} {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			if err := rdb.FlushAll(t.Context()).Err(); err != nil { // what one that has failed has left
				t.Fatal(err)
			}
			r := newRun(t, rdb, t.Name(), many)
			r.all(seeded(seed, 200/min(many, 2)))
		})
	}
}
