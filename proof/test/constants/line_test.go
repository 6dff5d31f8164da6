package constants_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A queue is waiters of one Client in a bubble, for keys that others hold.
type queue struct {
	*world.World
	*gate
	ctx  context.Context // of the waiters
	ends context.CancelFunc
	slow atomic.Bool // their requests take a second
	n    int
}

// inQueue runs fn with a Client one of whose scripts has a gate.
func inQueue(t *testing.T, script string, fn func(t *testing.T, q *queue)) {
	t.Helper()
	world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
		q := &queue{World: w, gate: &gate{script: script}}
		rdb := mini.Client(t, once)
		rdb.AddHook(check.Around{Instead: q.pass})
		rdb.AddHook(check.Around{Before: func(cmd redis.Cmder) {
			if q.slow.Load() && check.RunIn(cmd).Of("rw") {
				time.Sleep(time.Second)
			}
		}})
		q.ctx, q.ends = context.WithCancel(t.Context())
		check.NoError(t, w.RDB.Set(t.Context(), w.Key("k"), "holder|", time.Hour).Err())
		client := world.NewClient(t, rdb)
		// The server knows the scripts, and the channel is heard.
		_, err := client.Obtain(t.Context(), w.Keys("k"), time.Minute, &redislock.Options{Queue: true, Wait: time.Second})
		check.Is(t, err, redislock.ErrWaitOver)
		q.World = &world.World{RDB: w.RDB, Client: client, Prefix: w.Prefix}
		fn(t, q)
		q.ends()
		time.Sleep(time.Minute)
	})
}

// wait has so many more wait for the key, each by itself, and for others that each has for itself.
func (q *queue) wait(t *testing.T, n, others int) {
	t.Helper()
	for range n {
		q.n++
		keys := append(q.Keys("k"), world.Numbered(q.Key(fmt.Sprint(q.n)), others)...)
		go func() { _, _ = q.Client.Obtain(world.Apart(q.ctx), keys, time.Minute, world.Queue()) }()
		synctest.Wait()
	}
	q.InLine(t, q.Key("k"), q.n)
}

// till returns until when each waiter counts as alive.
func (q *queue) till(t *testing.T) (all []time.Time) {
	t.Helper()
	for _, entry := range check.Must[[]string](t)(q.RDB.ZRange(t.Context(), "redislock:line:{"+q.Key("k")+"}", 0, -1).Result()) {
		all = append(all, time.UnixMilli(check.Must[int64](t)(strconv.ParseInt(strings.Split(entry, "|")[1], 10, 64))))
	}
	return all
}

// gaps returns how much time lies between one run of the script and the next, the shortest and the longest.
func (g *gate) gaps(t *testing.T) (least, most time.Duration) {
	t.Helper()
	at := g.times()
	if len(at) < 4 {
		t.Fatalf("%s was run after %v", g.script, at)
	}
	least = time.Hour
	for i := 1; i < len(at); i++ {
		gap := at[i] - at[i-1]
		least, most = min(least, gap), max(most, gap)
	}
	return least, most
}

// within checks that gaps are not shorter and not longer than they may be.
func within(t *testing.T, what string, got, least, most time.Duration) {
	t.Helper()
	if got < least || got > most {
		t.Errorf("%s: got %v, want %v to %v", what, got, least, most)
	}
}

// A waiter counts as alive for 15 s, from when it asks and from when it is asked for. Eight of a Client ask by themselves each
// time that it asks for all, about every 4.2 s.
func TestRoundsAreOnTime(t *testing.T) {
	t.Parallel()
	inQueue(t, "again", func(t *testing.T, q *queue) {
		q.wait(t, 1, 0)
		if got := time.Until(q.till(t)[0]).Round(ms); got != 15*time.Second {
			t.Errorf("a waiter counts as alive for %v, want 15 s", got)
		}
		q.wait(t, 19, 0)
		time.Sleep(10 * time.Second)
		q.begin(false)
		asked := 0
		q.watch(func(run check.Run) {
			if run.Of("rw") {
				asked++
			}
		})
		time.Sleep(time.Minute)
		q.watch(nil)
		at := q.times()
		least, most := q.gaps(t)
		within(t, "the shortest time from one round to the next", least, 4062*ms, 4375*ms)
		within(t, "the longest", most, 4062*ms, 4375*ms)
		if want := 8 * len(at); asked < want-8 || asked > want+8 {
			t.Errorf("%d asked by themselves in %d rounds, want 8 in each", asked, len(at))
		}
		last := q.began.Add(at[len(at)-1])
		for _, till := range q.till(t) {
			within(t, "a waiter that was asked for counts as alive", till.Sub(last), 15*time.Second-ms, 15*time.Second)
		}
	})
}

// A round that fails is followed by another one after a second. Who is not reached asks by itself within 10 s.
func TestRoundsThatFail(t *testing.T) {
	t.Parallel()
	inQueue(t, "again", func(t *testing.T, q *queue) {
		q.wait(t, 88, 0)
		latest, longest := map[string]time.Time{}, time.Duration(0)
		q.watch(func(run check.Run) {
			if run.Of("rw") {
				id, _ := run.Waiter()
				if at := latest[id]; !at.IsZero() {
					longest = max(longest, time.Since(at))
				}
				latest[id] = time.Now()
			}
		})
		q.begin(true)
		time.Sleep(22 * time.Second)
		q.watch(nil)
		least, most := q.gaps(t)
		within(t, "the shortest time from a round that fails to the next", least, time.Second, time.Second)
		within(t, "the longest", most, time.Second, time.Second)
		within(t, "the longest time from when a waiter asks until it asks again", longest, 8750*ms, 10*time.Second)
		q.begin(false)
	})
}

// One call asks for waiters with 192 keys at most.
func TestRoundsAreNotTooLarge(t *testing.T) {
	t.Parallel()
	inQueue(t, "again", func(t *testing.T, q *queue) {
		q.wait(t, 14, 39)
		most := 0
		q.watch(func(run check.Run) {
			most = max(most, len(run.Round))
		})
		time.Sleep(6 * time.Second)
		q.watch(nil)
		if want := 192 / 40; most != want {
			t.Errorf("calls ask for %d waiters of 40 keys at most, want %d", most, want)
		}
	})
}

// A waiter whom nobody can tell asks every 5 s, or up to an eighth sooner.
func TestWaiterWithoutMessagesAsks(t *testing.T) {
	t.Parallel()
	for i := range 20 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			world.Bubble(t, func(t *testing.T, _ *world.World, _ *redistest.Mini, _ *world.Journal) {
				g := &gate{script: "obtain"}
				p := &world.FakeServer{
					Script:    func(check.Run) string { return world.HeldBySomebody },
					Subscribe: func(int, string) string { return "" }, // it does not say whether it has
				}
				rdb := p.Client(t)
				rdb.AddHook(check.Around{Instead: g.pass})
				g.begin(false)
				_, err := world.NewClient(t, rdb).Obtain(t.Context(), []string{"k"}, time.Minute,
					&redislock.Options{Queue: true, Wait: 8 * time.Second})
				check.Is(t, err, redislock.ErrNotObtained)
				at := g.times()
				if len(at) != 2 {
					t.Fatalf("it has asked after %v", at)
				}
				within(t, "from one attempt to the next", at[1], 4375*ms, 5*time.Second)
			})
		})
	}
}

// A waiter in line whose attempts are refused asks again later and later, after a second at most.
func TestWaiterThatIsRefusedAsks(t *testing.T) {
	t.Parallel()
	inQueue(t, "rw", func(t *testing.T, q *queue) {
		q.wait(t, 1, 0)
		q.begin(true)
		time.Sleep(time.Minute)
		at := q.times()
		gaps := make([]time.Duration, len(at)-1)
		for i := range gaps {
			gaps[i] = at[i+1] - at[i]
		}
		for i, gap := range gaps {
			if most := min(time.Second, 10*ms<<min(i, 20)); gap < most/2 || gap > most {
				t.Fatalf("got pauses %v, want %v or half of it for pause %d", gaps[:i+1], most, i)
			}
		}
		if len(gaps) < 50 {
			t.Errorf("it has asked %d times in a minute", len(gaps))
		}
		q.begin(false)
	})
}

// The first in line asks 2 ms after the end of the lease before it. Behind one who does not, the next one asks 5 to 10 ms
// later; if it has no answer, another one of the Client after 10 ms.
func TestWaitersAskBehindALease(t *testing.T) {
	t.Parallel()
	t.Run("first", func(t *testing.T) {
		inQueue(t, "rw", func(t *testing.T, q *queue) {
			check.NoError(t, q.RDB.PExpire(t.Context(), q.Key("k"), 3*time.Second).Err())
			got := took(func() {
				lock := check.Must[*redislock.Lock](t)(q.Client.Obtain(q.ctx, q.Keys("k"), time.Minute, world.Queue()))
				check.NoError(t, lock.Release(t.Context()))
			})
			if got != 3002*ms {
				t.Errorf("obtained after %v, want 3.002 s", got)
			}
		})
	})
	t.Run("behind another", func(t *testing.T) {
		inQueue(t, "rw", func(t *testing.T, q *queue) {
			check.NoError(t, q.RDB.PExpire(t.Context(), q.Key("k"), 3*time.Second).Err())
			entry := fmt.Sprintf("%s|%d|wp-h|60000|1|1|0|ctoken", strings.Repeat("h", 22), time.Now().Add(time.Hour).UnixMilli())
			check.NoError(t, q.RDB.ZAdd(t.Context(), "redislock:line:{"+q.Key("k")+"}", redis.Z{Score: 1, Member: entry}).Err())
			q.n++
			q.wait(t, 2, 0)
			q.begin(false)
			q.slow.Store(true)
			time.Sleep(3100 * ms)
			at := q.times()
			if len(at) != 2 {
				t.Fatalf("they have asked after %v", at)
			}
			within(t, "the first", at[0], 3007*ms, 3012*ms)
			within(t, "the second behind it", at[1]-at[0], 10*ms, 10*ms)
		})
	})
}
