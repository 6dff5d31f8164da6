package cost_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A turn of a line costs a few commands a key, whoever waits for what.
func TestTurn(t *testing.T) {
	t.Parallel()
	for _, c := range courses() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := newMeter(t)
			both := []*redislock.Client{m.client, m.newClient(t)}
			for _, fenced := range []bool{false, true} {
				for _, k := range c.sizes() {
					for clients := 1; clients <= len(both); clients++ {
						l := c.limit(k, fenced)
						if clients > 1 {
							l = l.and(published)
						}
						cheap(t, func(b *bill) {
							r := newRow(t, m, c.set(k), both[:clients]...)
							if r.opt.Fenced, r.vain, r.asks = fenced, c.vain, c.asks(); c.ttl > 0 {
								r.ttl = c.ttl
							}
							what := named(c.name, fenced, clients)
							for special, part := range r.measure(t) {
								want(b, what+special, l, part, c.asks())
							}
						})
					}
				}
			}
		})
	}
}

// named says what is measured.
func named(name string, fenced bool, clients int) string {
	if fenced {
		name += ", fenced"
	}
	if clients > 1 {
		name += fmt.Sprintf(", of %d Clients", clients)
	}
	return name
}

// A turn in which somebody is dropped whose process is gone, who stood before the one that is granted.
func TestTurnDrops(t *testing.T) {
	t.Parallel()
	m := newMeter(t)
	c := course{name: "one is gone before each", alsoAlone: true, set: sameSet}
	for _, fenced := range []bool{false, true} {
		for _, k := range c.sizes() {
			cheap(t, func(b *bill) {
				relay := redistest.NewRelay(t, m.server.Addr())
				set := c.set(k)
				alive := newRow(t, m, set, m.client)
				dead := newRow(t, m, set, m.clientOf(t, relay.Client(t)))
				alive.opt.Fenced, dead.opt.Fenced = fenced, fenced
				lock := alive.begins(t, 0)
				var last standing
				for range turns {
					last = dead.enters(t)
					alive.enters(t)
				}
				for range depth {
					alive.enters(t)
				}
				m.buries(t, relay, last)
				var all []costing
				for i := range turns {
					commands := m.counts(t, func() { lock = alive.turn(t, lock, i) })
					one := alive.costing(i, commands)
					one.late = one.late || m.scripts > scriptsOfATurn || commands["time"] > scriptsOfATurn
					all = append(all, one)
				}
				dead.cancel()
				relay.Refuse(false) // so that they are done soon
				dead.waiters.Wait()
				alive.ends(t, lock)
				want(b, named(c.name, fenced, 1), c.limit(k, fenced), all, c.asks())
			})
		}
	}
}

// scriptsOfATurn is how many a turn runs in which nobody asks again: one leaves, and one enters. Each of them asks for the time
// once, also if it is sent together with others. Waiters whose subscription is
// new ask again, which may be in a later turn on a machine that is busy.
const scriptsOfATurn = 2

// buries has the process of a waiter die behind its relay, and waits until the server has noticed.
func (m *meter) buries(t *testing.T, relay *redistest.Relay, s standing) {
	t.Helper()
	relay.Refuse(true)
	relay.Cut()
	check.Eventually(t, 10*time.Second, "the server has noticed", func() bool {
		return check.Must[map[string]int64](t)(m.admin.PubSubNumSub(t.Context(), s.channel).Result())[s.channel] == 0
	})
}

// A set whose halves are two others' is asked for twice: when the first of them leaves, and when the second does. They get
// their halves together when it is released.
func TestTurnOfHalves(t *testing.T) {
	t.Parallel()
	m := newMeter(t)
	c := course{name: "the halves are two others'", extra: asked, set: func(k int) func(int) wish {
		keys := newKeys("halves", k)
		return func(i int) wish { return wish{write: [][]string{keys, keys[:k/2], keys[k/2:]}[i%3]} }
	}}
	for _, fenced := range []bool{false, true} {
		for _, k := range c.sizes() {
			cheap(t, func(b *bill) {
				r := newRow(t, m, c.set(k), m.client)
				r.opt.Fenced, r.asks = fenced, c.asks()
				whole := r.begins(t, 6)
				var toHalves, toWhole []costing
				for range turns {
					var first, second world.Turn
					commands := m.counts(t, func() {
						check.NoError(t, whole.Release(t.Context()))
						first, second = r.gets(t), r.gets(t)
						r.enters(t)
						r.enters(t)
					})
					if earlier := fmt.Sprint(len(r.entered) - r.others - 2); first.Who != earlier { // they are granted together
						first, second = second, first
					}
					toHalves = append(toHalves, r.costing(0, commands))
					commands = m.counts(t, func() {
						m.forgetAsked()
						check.NoError(t, first.Lock.Release(t.Context()))
						m.asksAgain(t)
						check.NoError(t, second.Lock.Release(t.Context()))
						whole = r.gets(t).Lock
						r.enters(t)
					})
					toWhole = append(toWhole, r.costing(2, commands))
				}
				r.ends(t, whole)
				what, l := named(c.name, fenced, 1), c.limit(k, fenced)
				want(b, what+", two are granted", l.and(limit{0, l.more}), toHalves[2:], c.asks())
				want(b, what+", one is granted", l.and(lookedAt), toWhole[2:], c.asks())
			})
		}
	}
}

// A turn in which the one who leaves may not publish: the next one is told by nobody, and asks by itself.
func TestTurnUntold(t *testing.T) {
	t.Parallel()
	m := newMeter(t)
	mute := []any{"acl", "setuser", "mute", "on", ">secret", "~*", "&*", "+@all", "-publish", "-spublish"}
	check.NoError(t, m.admin.Do(t.Context(), mute...).Err())
	holder := world.NewClient(t, m.server.Client(t, func(opt *redis.Options) { opt.Username, opt.Password = "mute", "secret" }))
	c := course{name: "the one who leaves may not publish", alsoAlone: true, extra: limit{0, 1}, set: sameSet}
	for _, fenced := range []bool{false, true} {
		for _, k := range c.sizes() {
			cheap(t, func(b *bill) {
				var all []costing
				for range turns / 2 {
					r := newRow(t, m, c.set(k), m.client)
					r.opt.Fenced = fenced
					r.entered = []time.Time{time.Now()}
					lock := check.Must[*redislock.Lock](t)(holder.Obtain(t.Context(), r.wish(0).write, r.ttl, &r.opt))
					first := r.enters(t)
					r.enters(t)
					commands := m.counts(t, func() {
						check.NoError(t, lock.Release(t.Context()))
						m.wakes(t, first)
						lock = r.gets(t).Lock
						r.enters(t)
					})
					all = append(all, r.costing(0, commands))
					r.ends(t, lock)
				}
				want(b, named(c.name, fenced, 1), c.limit(k, fenced).and(limit{0, 1}), all, c.asks()) // it is woken by the test
			})
		}
	}
}
