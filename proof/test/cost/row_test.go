package cost_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/world"
)

const (
	depth = 4  // how many stand in line
	turns = 10 // are measured
)

// A row is a course that runs: somebody holds, and others stand in line.
type row struct {
	m       *meter
	clients []*redislock.Client // the callers are of each in turn
	wish    func(i int) wish
	opt     redislock.Options
	ttl     time.Duration
	vain    bool // see course
	asks    bool // see course
	ctx     context.Context
	cancel  context.CancelFunc
	waiters sync.WaitGroup
	granted chan world.Turn
	entered []time.Time // when each caller came; the next one's number is how many have come
	others  int         // stand in line
}

func newRow(t *testing.T, m *meter, wish func(int) wish, clients ...*redislock.Client) *row {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	return &row{
		m: m, clients: clients, wish: wish, ctx: ctx, cancel: cancel, ttl: world.Long,
		opt: redislock.Options{Queue: true}, granted: make(chan world.Turn, 100),
	}
}

// enters has the next caller stand in line.
func (r *row) enters(t *testing.T) standing {
	t.Helper()
	i, opt := len(r.entered), r.opt
	r.entered = append(r.entered, time.Now())
	return r.stands(t, r.clients[i%len(r.clients)], r.wish(i), &opt, fmt.Sprint(i))
}

// stands has somebody stand in line by itself, and waits until it does.
func (r *row) stands(t *testing.T, client *redislock.Client, w wish, opt *redislock.Options, who string) standing {
	t.Helper()
	r.waiters.Go(func() {
		lock, err := client.ObtainSet(world.Apart(r.ctx), redislock.Set{Write: w.write, Read: w.read}, r.ttl, opt)
		r.granted <- world.Turn{Who: who, Lock: lock, Err: err}
	})
	return waits(t, "stands in line", r.m.entered)
}

// gets returns the lock of the caller whose turn it is.
func (r *row) gets(t *testing.T) world.Turn {
	t.Helper()
	got, ok := check.Receive(r.granted, world.Soon)
	if !ok {
		t.Fatal("nobody got the lock, before somebody asks by itself")
	}
	check.NoError(t, got.Err)
	return got
}

// begins has the first caller hold its set, and the others stand in line.
func (r *row) begins(t *testing.T, others int) *redislock.Lock {
	t.Helper()
	first, opt := r.wish(0), r.opt
	r.entered, r.others = []time.Time{time.Now()}, others
	lock := check.Must[*redislock.Lock](t)(r.clients[0].ObtainSet(t.Context(), redislock.Set{Write: first.write, Read: first.read}, r.ttl, &opt))
	for range others {
		r.enters(t)
	}
	return lock
}

// turn releases the lock, and has the next caller enter. It returns the lock of the one that is granted, who has to be the
// one behind the i'th caller.
func (r *row) turn(t *testing.T, lock *redislock.Lock, i int) *redislock.Lock {
	t.Helper()
	r.m.forgetAsked()
	check.NoError(t, lock.Release(t.Context()))
	got := r.gets(t)
	if want := fmt.Sprint(i + 1); got.Who != want {
		t.Fatalf("it is the turn of %s, want %s", got.Who, want)
	}
	r.enters(t)
	if r.vain {
		check.Receive(r.m.asked, time.Second) // its answer belongs to this turn; if it is not told, the better
	}
	return got.Lock
}

// ends has nobody wait any more, and releases the lock.
func (r *row) ends(t *testing.T, lock *redislock.Lock) {
	t.Helper()
	r.cancel()
	r.waiters.Wait()
	check.NoError(t, lock.Release(t.Context()))
	check.NoError(t, r.m.admin.FlushAll(t.Context()).Err())
}

// A turn is who leaves, and who is granted.
type turn struct{ left, granted wish }

// keys is how many the greater of the two sets has.
func (t turn) keys() int { return max(t.left.size(), t.granted.size()) }

// String says what is not the same for both.
func (t turn) String() string {
	switch {
	case t.left.size() != t.granted.size():
		return fmt.Sprintf(", %d keys after %d", t.granted.size(), t.left.size())
	case len(t.granted.read) > len(t.left.read):
		return ", a reader"
	case len(t.granted.read) < len(t.left.read):
		return ", a writer"
	}
	return ""
}

// A costing is what a turn has cost.
type costing struct {
	turn
	commands world.Commands
	late     bool      // a waiter may have asked again by itself, or been written anew when it was told to ask
	at       time.Time // when it was over
}

// costing is one between the i'th caller and the next.
func (r *row) costing(i int, commands world.Commands) costing {
	const asksAgain = 4 * time.Second // not sooner
	at := time.Now()
	late := at.Sub(r.entered[0]) > asksAgain || r.m.took > slowTurn
	if r.asks {
		granted := len(r.entered) - r.others - 1
		late = late || at.Sub(r.entered[granted]) > young
	}
	return costing{turn{r.wish(i), r.wish(i + 1)}, commands, late, at}
}

// slowTurn is longer than a turn takes, unless the machine is so busy that a waiter may not have been told in time.
const slowTurn = 250 * time.Millisecond

// young is how old an entry in line may be that is left as it is when its waiter asks; an older one is written anew.
const young = 500 * time.Millisecond

// measure runs some turns, and returns what each has cost, by what is special about it.
func (r *row) measure(t *testing.T) map[string][]costing {
	t.Helper()
	lock := r.begins(t, depth)
	all := make(map[string][]costing)
	for i := range turns + 2 {
		commands := r.m.counts(t, func() { lock = r.turn(t, lock, i) })
		if i >= 2 { // until then the server learns the scripts, and subscriptions begin
			one := r.costing(i, commands)
			all[one.String()] = append(all[one.String()], one)
		}
	}
	r.ends(t, lock)
	return all
}

// secondsOf is in how many of some turns, one after the other, a second may have begun.
func secondsOf(all []costing) int {
	if len(all) == 0 {
		return 0
	}
	return int((all[len(all)-1].at.Sub(all[0].at)+young)/time.Second) + 1
}

// want checks the median of some turns, and that none costs more than one in which a second begins: where so many seconds have
// begun that the median may be such a turn, it may cost as much. A turn in which somebody asks by itself may cost more, because
// whoever asks at another moment may be written anew, so others are checked if there are any; if it is meant to happen in each,
// the cheapest of them. On a machine that is so slow that a waiter may ask again by itself in each of them, one more such
// asking is allowed.
func want(b *bill, what string, l limit, all []costing, asks bool) {
	punctual := slices.DeleteFunc(slices.Clone(all), func(c costing) bool { return c.late })
	same := len(punctual) - len(punctual)/2 // of them cost as much as the median, or more
	if asks {
		same = len(punctual)
	}
	if secondsOf(punctual) >= same {
		l = l.and(onceASecond)
	}
	byTotal := func(a, b costing) int { return a.commands.Total() - b.commands.Total() }
	slices.SortFunc(all, byTotal)
	slices.SortFunc(punctual, byTotal)
	var median costing
	switch {
	case len(punctual) == 0:
		median, l = all[0], l.and(byItself)
	case asks:
		median = punctual[0]
	default:
		median = punctual[len(punctual)/2]
	}
	if !l.within(b, what, median.keys(), median.commands) || asks || len(punctual) == 0 {
		return
	}
	dearest := punctual[len(punctual)-1]
	l.and(onceASecond).within(b, what+", the dearest,", dearest.keys(), dearest.commands)
}
