package line_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// An arrival is one Obtain of a workload. Its times count from the beginning of the run.
type arrival struct {
	id          int
	write, read []string
	asked       time.Duration // just before Obtain
	place       int64         // in line, as the server said; 0: it never stood there
	placed      time.Duration // when that was known
	held        bool
	from        time.Duration // just after Obtain returned the lock
	shares      time.Duration // just before its Downgrade; 0: there was none
	until       time.Duration // just before Release; or just after Obtain gave up waiting
	number      int64         // for fencing; 0: none
}

func (a *arrival) String() string {
	return fmt.Sprintf("#%d (write %q, read %q; asked at %v, place %d known at %v, held from %v, shared from %v, until %v)",
		a.id, a.write, a.read, a.asked, a.place, a.placed, a.from, a.shares, a.until)
}

// A workload wants overlapping sets of a few keys, all the time. It reads in the answers of
// the server who stands where in line.
type workload struct {
	t      *testing.T
	began  time.Time
	lasts  time.Duration
	mu     sync.Mutex
	all    []*arrival
	pauses [][2]time.Duration // the machine had something else to do
}

func (c *workload) now() time.Duration { return time.Since(c.began) }

// read takes note of the place that an answer gives.
func (c *workload) read(cmd redis.Cmder) {
	answer, ok := cmd.(interface{ Val() any })
	asked := check.RunIn(cmd)
	if !ok || asked.Obtain == nil || cmd.Err() != nil {
		return
	}
	var run proto.Run
	asked.Obtain.Fill(&run)
	reply, _ := proto.TakeMore(answer.Val())
	said, err := run.Answer(reply)
	if err != nil {
		c.t.Errorf("%v: %v", asked.Set.Keys, err)
	}
	if said.Code != proto.InLine {
		return
	}
	_, metadata, _ := strings.Cut(asked.Value, "|")
	id, err := strconv.Atoi(metadata)
	if err != nil {
		c.t.Errorf("got metadata %q", metadata)
		return
	}
	place := said.Place.Number()
	c.mu.Lock()
	defer c.mu.Unlock()
	switch a := c.all[id]; a.place {
	case 0:
		a.place, a.placed = place, c.now()
	case place:
	default:
		c.t.Errorf("%v was given another place: %d", a, place)
	}
}

// arrives chooses what the next arrival wants.
func (c *workload) arrives() *arrival {
	a := &arrival{}
	taste := rand.IntN(3)
	for _, k := range rand.Perm(8)[:1+rand.IntN(5)] {
		if key := fmt.Sprint("k", k); taste == 0 || taste == 1 && rand.IntN(2) == 0 {
			a.write = append(a.write, key)
		} else {
			a.read = append(a.read, key)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	a.id = len(c.all)
	c.all = append(c.all, a)
	return a
}

// comes obtains and releases again and again. Most callers rest now and then, so that some sets are free.
func (c *workload) comes(client *redislock.Client, rests bool) {
	run, end := context.WithTimeout(c.t.Context(), c.lasts+20*time.Second) // if nothing moves any more
	defer end()
	for c.now() < c.lasts {
		if rests && c.now()%time.Second > 700*time.Millisecond {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		ctx, cancel := context.WithCancel(run)
		if rand.IntN(4) == 0 {
			patience := []time.Duration{2 * time.Millisecond, 100 * time.Millisecond}[rand.IntN(2)]
			time.AfterFunc(rand.N(patience), cancel)
		}
		a := c.arrives()
		inLine := rand.IntN(20) > 0
		a.asked = c.now()
		lock, err := client.ObtainSet(ctx, redislock.Set{Write: a.write, Read: a.read}, world.Long,
			&redislock.Options{Queue: inLine, Metadata: strconv.Itoa(a.id), Fenced: rand.IntN(2) == 0})
		switch at := c.now(); {
		case err == nil:
			a.held, a.from, a.number = true, at, lock.Fence()
			c.holds(a, lock)
		case !errors.Is(err, context.Canceled) && (inLine || !errors.Is(err, redislock.ErrNotObtained)):
			c.t.Errorf("%v: %v", a, err)
		case inLine:
			a.until = at
		}
		cancel()
	}
}

func (c *workload) holds(a *arrival, lock *redislock.Lock) {
	time.Sleep(rand.N(4 * time.Millisecond))
	if a.write != nil && rand.IntN(8) == 0 {
		a.shares = c.now()
		if err := lock.Downgrade(c.t.Context()); err != nil {
			c.t.Errorf("%v: %v", a, err)
		}
		time.Sleep(rand.N(4 * time.Millisecond))
	}
	a.until = c.now()
	if err := lock.Release(c.t.Context()); err != nil {
		c.t.Errorf("%v: %v", a, err)
	}
}

// feels notes when the machine, or the server, does nothing for a while.
func (c *workload) feels(rdb *redis.Client) {
	for last := c.now(); last < c.lasts; {
		time.Sleep(10 * time.Millisecond)
		if err := rdb.Ping(c.t.Context()).Err(); err != nil {
			c.t.Error(err)
			return
		}
		at := c.now()
		if at-last > 20*time.Millisecond { // twice what it takes on a machine that has time
			c.pauses = append(c.pauses, [2]time.Duration{last, at})
		}
		last = at
	}
}

// DESIGN section 6: first come first served over overlapping sets, no deadlock.
func TestQueueOrder(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		kind    redistest.Kind
		clients int
		lasts   time.Duration
	}{
		{"redis", redistest.Redis, 1, check.HammerTime},
		{"redis, several clients", redistest.Redis, 4, 4 * time.Second},
		{"valkey", redistest.Valkey, 1, 4 * time.Second},
		{"valkey, several clients", redistest.Valkey, 4, 4 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t, test.kind)
			c := &workload{t: t, lasts: test.lasts}
			if testing.Short() {
				c.lasts = min(c.lasts, 2*time.Second)
			}
			clients := make([]*redislock.Client, test.clients)
			for i := range clients {
				rdb := server.Client(t)
				rdb.AddHook(check.Around{After: c.read})
				clients[i] = redislock.New(rdb)
				t.Cleanup(clients[i].Close)
			}
			rdb := server.Client(t)
			c.began = time.Now()
			var wg sync.WaitGroup
			wg.Go(func() { c.feels(rdb) })
			for g := range 64 {
				wg.Go(func() { c.comes(clients[g%len(clients)], g >= 6) })
			}
			wg.Wait()
			c.judge()
			check.Eventually(t, 20*time.Second, "no key and no line is left, but of guards", func() bool {
				keys := check.Must[[]string](t)(rdb.Keys(t.Context(), "*").Result())
				return !slices.ContainsFunc(check.WithoutGuards(t.Context(), rdb, keys...), func(key string) bool {
					return !strings.HasPrefix(key, "redislock:fence:")
				})
			})
		})
	}
}
