package cost_test

import (
	"context"
	"fmt"
	"slices"
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

// A wish is the set that one caller wants.
type wish struct{ write, read []string }

func (w wish) size() int { return len(w.write) + len(w.read) }

// A course says who comes, one after the other.
type course struct {
	name      string
	set       func(k int) func(i int) wish // what the i'th caller wants; k: how many keys the sets have
	ttl       time.Duration                // zero: a long one
	same      bool                         // all want the same
	alsoAlone bool                         // it can be had with one key
}

func courses() []course {
	return []course{
		{name: "the same set", same: true, alsoAlone: true, set: sameSet},
		{name: "the same set, short ttl", ttl: 4 * time.Second, alsoAlone: true, set: sameSet},
		{name: "half of it read", set: func(k int) func(int) wish {
			keys := world.Numbered("mixed", k)
			return func(int) wish { return wish{keys[:k/2], keys[k/2:]} }
		}},
		{name: "readers and writers by turns", alsoAlone: true, set: func(k int) func(int) wish {
			keys := world.Numbered("by turns", k)
			return func(i int) wish {
				if i%2 > 0 {
					return wish{read: keys}
				}
				return wish{write: keys}
			}
		}},
		{name: "half of it is the holder's, half is free", set: func(k int) func(int) wish {
			const halves = 2 * (depth + 1)
			keys := world.Numbered("chain", halves*k/2)
			return func(i int) wish {
				from, to := i%halves, (i+1)%halves
				return wish{write: slices.Concat(keys[from*k/2:(from+1)*k/2], keys[to*k/2:(to+1)*k/2])}
			}
		}},
		{name: "a part and the whole by turns", set: func(k int) func(int) wish {
			keys := world.Numbered("part", k)
			return func(i int) wish { return wish{write: keys[:k-i%2*k/2]} }
		}},
		{name: "one key and the whole by turns", set: func(k int) func(int) wish {
			keys := world.Numbered("one", k)
			return func(i int) wish { return wish{write: keys[:max(1, (1-i%2)*k)]} }
		}},
		{name: "the same keys in another order", set: func(k int) func(int) wish {
			keys := world.Numbered("order", k)
			back := slices.Clone(keys)
			slices.Reverse(back)
			return func(i int) wish { return wish{write: [][]string{keys, back}[i%2]} }
		}},
	}
}

func sameSet(k int) func(int) wish {
	keys := world.Numbered("same", k)
	return func(int) wish { return wish{write: keys} }
}

// limit is what a turn of the course may cost.
func (c course) limit(k int, fenced bool) limit {
	switch {
	case c.same && k == 1 && fenced:
		return oneKeyFenced
	case c.same && k == 1:
		return oneKey
	case c.same && fenced:
		return turnOfTheSameFenced
	case c.same:
		return turnOfTheSame
	case fenced:
		return turnOfOthersFenced
	}
	return turnOfOthers
}

// A row is a course that runs: somebody holds, and others stand in line.
type row struct {
	m       *meter
	clients []*redislock.Client // the callers are of each in turn
	wish    func(i int) wish
	opt     redislock.Options
	ttl     time.Duration
	ctx     context.Context
	granted chan world.Turn
	next    int // the number of the next caller
}

func newRow(t *testing.T, m *meter, wish func(int) wish, clients ...*redislock.Client) *row {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	return &row{
		m: m, clients: clients, wish: wish, ctx: ctx, ttl: world.Long,
		opt: redislock.Options{Queue: true}, granted: make(chan world.Turn, 100),
	}
}

// enters has the next caller stand in line.
func (r *row) enters(t *testing.T) {
	t.Helper()
	i, opt := r.next, r.opt
	r.next++
	r.stands(t, r.clients[i%len(r.clients)], r.wish(i), &opt, fmt.Sprint(i))
}

// stands has somebody stand in line, and waits until it does.
func (r *row) stands(t *testing.T, client *redislock.Client, w wish, opt *redislock.Options, who string) {
	t.Helper()
	go func() {
		lock, err := client.ObtainMixed(r.ctx, w.write, w.read, r.ttl, opt)
		r.granted <- world.Turn{Who: who, Lock: lock, Err: err}
	}()
	if _, ok := check.Receive(r.m.entered, 10*time.Second); !ok {
		t.Fatalf("%s does not stand in line", who)
	}
}

// gets returns the lock of the caller whose turn it is.
func (r *row) gets(t *testing.T) world.Turn {
	t.Helper()
	got, ok := check.Receive(r.granted, 10*time.Second)
	if !ok {
		t.Fatal("nobody got the lock")
	}
	check.NoError(t, got.Err)
	return got
}

// begins has the first caller hold its set, and the others stand in line.
func (r *row) begins(t *testing.T, others int) *redislock.Lock {
	t.Helper()
	first, opt := r.wish(0), r.opt
	r.next = 1
	lock := check.Must[*redislock.Lock](t)(r.clients[0].ObtainMixed(t.Context(), first.write, first.read, r.ttl, &opt))
	for range others {
		r.enters(t)
	}
	return lock
}

// ends releases the lock, and has nobody wait any more.
func (r *row) ends(t *testing.T, lock *redislock.Lock) {
	t.Helper()
	check.NoError(t, lock.Release(t.Context()))
	for range depth {
		check.NoError(t, r.gets(t).Lock.Release(t.Context()))
	}
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
}

// measure runs some turns, and returns what each has cost, by what is special about it.
func (r *row) measure(t *testing.T) map[string][]costing {
	t.Helper()
	lock := r.begins(t, depth)
	all := make(map[string][]costing)
	for i := range turns + 2 {
		commands := r.m.counts(t, func() {
			check.NoError(t, lock.Release(t.Context()))
			got := r.gets(t)
			if want := fmt.Sprint(i + 1); got.Who != want {
				t.Fatalf("it is the turn of %s, want %s", got.Who, want)
			}
			lock = got.Lock
			r.enters(t)
		})
		if i >= 2 { // until then the server learns the scripts, and subscriptions begin
			one := turn{r.wish(i), r.wish(i + 1)}
			all[one.String()] = append(all[one.String()], costing{one, commands})
		}
	}
	r.ends(t, lock)
	return all
}

// want checks the median of some turns, and that none costs more than one that is the first of its second. A slow machine
// has more of these.
func want(t *testing.T, what string, l limit, all []costing) {
	t.Helper()
	slices.SortFunc(all, func(a, b costing) int { return a.commands.Total() - b.commands.Total() })
	median, last := all[len(all)/2], all[len(all)-1]
	if l.within(t, what, median.keys(), median.commands) {
		l.and(onceASecond.aKey, onceASecond.more).within(t, what+", first turn of a second,", last.keys(), last.commands)
	}
}

// A turn of a line costs a few commands a key, whoever waits for what.
func TestTurn(t *testing.T) {
	t.Parallel()
	for _, c := range courses() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := newMeter(t)
			other := m.newClient(t)
			for _, fenced := range []bool{false, true} {
				for _, k := range []int{1, 4, 16, 64, 256} {
					if k == 1 && !c.alsoAlone {
						continue
					}
					for name, clients := range map[string][]*redislock.Client{
						"of one Client": {m.client}, "of two Clients": {m.client, other},
					} {
						r := newRow(t, m, c.set(k), clients...)
						if r.opt.Fenced = fenced; c.ttl > 0 {
							r.ttl = c.ttl
						}
						l := c.limit(k, fenced)
						if len(clients) > 1 {
							l = l.and(published.aKey, published.more)
						}
						what := c.name + ", " + name
						if fenced {
							what += ", fenced"
						}
						for special, part := range r.measure(t) {
							want(t, what+special, l, part)
						}
						check.NoError(t, m.admin.FlushAll(t.Context()).Err())
					}
				}
			}
		})
	}
}
