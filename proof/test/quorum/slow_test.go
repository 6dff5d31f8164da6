package quorum_test

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/quorum"
)

// A distance has commands, also those of pipelines, travel for so long: half of it there and half of it back.
type distance struct {
	away   atomic.Int64
	uneven atomic.Bool  // each way takes as long as that or shorter
	sent   atomic.Int64 // commands
}

func (d *distance) set(away time.Duration) { d.away.Store(int64(away)) }

func (d *distance) travel(cmds []redis.Cmder, send func([]redis.Cmder) error) error {
	d.sent.Add(int64(len(cmds)))
	time.Sleep(d.way())
	err := send(cmds)
	time.Sleep(d.way())
	return err
}

func (d *distance) way() time.Duration {
	half := time.Duration(d.away.Load()) / 2
	if d.uneven.Load() {
		return rand.N(half + 1)
	}
	return half
}

// farBubble runs fn in a bubble with n imitated servers. The last of them are at a distance, which is 0 at first. The node
// time-outs follow from the ttl.
func farBubble(t *testing.T, n, far int, fn func(t *testing.T, w *world, d *distance)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, d := &world{}, &distance{}
		for i := range n {
			mini := redistest.PipeMini(t)
			rdb := mini.Client(t, neverGivesUp, apart)
			if i >= n-far {
				rdb.AddHook(check.Around{Send: d.travel})
			}
			w.rdbs, w.nodes = append(w.rdbs, mini.Client(t, impatient)), append(w.nodes, w.newNode(t, i, rdb))
		}
		w.client = w.newClient(t)
		w.warmUp(t)
		w.client = w.byDefault(t)
		fn(t, w, d)
		d.set(0)
		time.Sleep(long) // what is under way arrives
		w.wantHolders(t, "k", 0)
	})
}

// atOnce checks that an operation takes no time: the nodes that are not far answer without any delay.
func atOnce(t *testing.T, what string, do func()) {
	t.Helper()
	began := time.Now()
	do()
	if took := time.Since(began); took > 0 {
		t.Errorf("%s has waited %v", what, took)
	}
}

// A minority of nodes that are far, slow or hang is never waited for if it is not needed.
func TestMinorityFar(t *testing.T) {
	t.Parallel()
	for _, away := range []time.Duration{
		20 * time.Millisecond, 50 * time.Millisecond, 300 * time.Millisecond, 900 * time.Millisecond,
		3 * time.Second, long,
	} {
		for name, opt := range map[string]*redislock.Options{"": nil, " token": nil, " fenced": fenced} {
			token := ""
			if name == " token" {
				token = t.Name()
			}
			t.Run(fmt.Sprint(away, name), func(t *testing.T) {
				farBubble(t, 5, 2, func(t *testing.T, w *world, d *distance) {
					const ttl = 10 * time.Second
					d.set(away)
					obtain := func() (*quorum.Lock, error) { return as(w.client, token).Obtain(bounded(t), []string{"k"}, ttl, opt) }
					for range 5 {
						var lock *quorum.Lock
						atOnce(t, "Obtain", func() {
							lock = must[*quorum.Lock](t)(obtain())
						})
						atOnce(t, "Refresh", func() { noError(t, lock.Refresh(bounded(t), ttl)) })
						atOnce(t, "TTL", func() { must[time.Duration](t)(lock.TTL(bounded(t))) })
						atOnce(t, "Release", func() { noError(t, lock.Release(bounded(t))) })
					}
					time.Sleep(2 * long) // nothing is under way any more
					lock := must[*quorum.Lock](t)(obtain())
					time.Sleep(min(6*away, ttl/2))
					if (away < 100*time.Millisecond || away < time.Second && opt != fenced) && lock.Nodes() < 5 {
						t.Errorf("got %d nodes, want all that answer in time", lock.Nodes())
					}
					atOnce(t, "Refresh", func() { noError(t, lock.Refresh(bounded(t), ttl)) })
					atOnce(t, "TTL", func() { must[time.Duration](t)(lock.TTL(bounded(t))) })
					atOnce(t, "Release", func() { noError(t, lock.Release(bounded(t))) })

					others := w.block(t, "k", long, 0, 1, 2)
					for range 5 {
						atOnce(t, "Obtain of what is held", func() {
							_, err := obtain()
							wantOnly(t, err, redislock.ErrNotObtained)
						})
					}
					for _, other := range others {
						noError(t, other.Release(bounded(t)))
					}
				})
			})
		}
	}
}

// A node that is needed, and has missed the node time-out, costs it once. It is trusted again by those who
// have as much time as it takes, and by the others when it is as quick.
func TestTrustedByPatience(t *testing.T) {
	farBubble(t, 3, 1, func(t *testing.T, w *world, d *distance) {
		const short = 40 * time.Millisecond // which makes a node time-out of 10 ms
		others := w.block(t, "k", time.Hour, 0)
		d.set(30 * time.Millisecond)
		_, err := w.client.Obtain(bounded(t), []string{"k"}, short, nil)
		wantOnly(t, err, redislock.ErrUnknownOutcome) // one has granted it, one has refused
		for range 5 {
			time.Sleep(time.Second) // what tries it has its answer
			atOnce(t, "Obtain", func() {
				_, err := w.client.Obtain(bounded(t), []string{"k"}, short, nil)
				wantOnly(t, err, redislock.ErrNotObtained)
			})
			lock := must[*quorum.Lock](t)(w.client.Obtain(bounded(t), []string{"k"}, long, nil))
			noError(t, lock.Release(bounded(t)))
		}
		time.Sleep(time.Second)
		d.set(0)
		_, err = w.client.Obtain(bounded(t), []string{"k"}, short, nil) // which has it tried
		wantOnly(t, err, redislock.ErrNotObtained)
		time.Sleep(time.Second)
		lock := must[*quorum.Lock](t)(w.client.Obtain(bounded(t), []string{"k"}, short, nil))
		noError(t, lock.Release(bounded(t)))
		noError(t, others[0].Release(bounded(t)))
	})
}

// A grant that was given back because it came when the time was over counts as too late.
func TestGrantInVain(t *testing.T) {
	farBubble(t, 3, 1, func(t *testing.T, w *world, d *distance) {
		others := w.block(t, "k", time.Hour, 0)
		d.set(990 * time.Millisecond) // of a second
		began := time.Now()
		_, err := w.client.Obtain(bounded(t), []string{"k"}, 10*time.Second, nil)
		wantOnly(t, err, redislock.ErrNotObtained)
		if took := time.Since(began); took < 900*time.Millisecond {
			t.Errorf("it took %v: the far node was not waited for", took)
		}
		for range 3 {
			time.Sleep(5 * time.Second)
			atOnce(t, "Obtain", func() {
				_, err := w.client.Obtain(bounded(t), []string{"k"}, 10*time.Second, nil)
				wantOnly(t, err, redislock.ErrNotObtained)
			})
		}
		noError(t, others[0].Release(bounded(t)))
	})
}

// What a released lock leaves at a far node does not hinder the next lock of the same Client.
func TestLeftAtFarNode(t *testing.T) {
	farBubble(t, 3, 1, func(t *testing.T, w *world, d *distance) {
		d.set(100 * time.Millisecond)
		others := w.block(t, "k", time.Hour, 0, 1)
		_, err := w.client.Obtain(bounded(t), []string{"k"}, long, nil)
		wantOnly(t, err, redislock.ErrNotObtained) // the third is on its way to grant it
		time.Sleep(10 * time.Millisecond)
		noError(t, others[0].Release(bounded(t)))
		lock := must[*quorum.Lock](t)(w.client.Obtain(bounded(t), []string{"k"}, long, nil))
		noError(t, lock.Release(bounded(t)))
		noError(t, others[1].Release(bounded(t)))
	})
}

// Requests do not pile up at a node that hangs, not even before the Client suspects it.
func TestNothingPilesUp(t *testing.T) {
	farBubble(t, 3, 1, func(t *testing.T, w *world, d *distance) {
		before := d.sent.Load()
		d.set(long)
		for range 100 {
			lock := must[*quorum.Lock](t)(w.client.Obtain(bounded(t), []string{"k"}, 10*time.Second, nil))
			noError(t, lock.Release(bounded(t)))
		}
		synctest.Wait()
		if n := d.sent.Load() - before; n > 2 {
			t.Errorf("%d commands are on their way", n)
		}
	})
}
