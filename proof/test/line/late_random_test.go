package line_test

import (
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
	"github.com/seed-14de3678/redislock/proof/random"
)

var (
	lateSeeds = flag.Int("late-seeds", 25, "how many random histories TestQueueNobodyIsLateAtRandom plays")
	lateFirst = flag.Uint64("late-first", 0, "the seed of the first")
)

const (
	lateParties = 4
	lateSteps   = 14
)

// What a party may lose.
const (
	losesRequest = 1 + iota
	losesAnswer
)

// A party is a process with a Client of its own. It can die, and lose what it sends or what it is answered.
type party struct {
	mortal
	client *redislock.Client
	ctx    context.Context
	cancel context.CancelFunc
	loses  atomic.Int32 // the next command, or the answer to it
	lost   func()       // notes that it has
	gone   bool         // under the mutex of the story
}

func newParty(ctx context.Context, lost func()) *party {
	p := &party{lost: lost}
	p.ctx, p.cancel = context.WithCancel(ctx)
	return p
}

// send sends commands, unless they are to be lost.
func (p *party) send(cmds []redis.Cmder, send func([]redis.Cmder) error) error {
	lost := p.loses.Swap(0)
	var err error
	if lost != losesRequest {
		err = send(cmds)
	}
	if lost == 0 {
		return err
	}
	p.lost()
	return io.ErrUnexpectedEOF
}

// A lateRun is a random history.
type lateRun struct {
	lateStory
	rng     *rand.Rand // of who begins everything, alone
	world   *world.World
	parties []*party
	wg      sync.WaitGroup
}

// newLateRun makes one with so many processes.
func newLateRun(t *testing.T, w *world.World, mini *redistest.Mini, seed uint64, n int) *lateRun {
	t.Helper()
	r := &lateRun{world: w, rng: rand.New(rand.NewPCG(seed, 0))}
	r.began = time.Now()
	for of := range n {
		p := newParty(t.Context(), func() { r.noteLost(of) })
		rdb := mini.Client(t, p.wraps)
		p.client = world.NewClient(t, rdb)
		rdb.AddHook(check.Around{Send: p.send})
		r.parties = append(r.parties, p)
	}
	return r
}

// between is a random time, in ms.
func (r *lateRun) between(least, most int) time.Duration {
	return time.Duration(random.Between(r.rng, least, most-1)) * time.Millisecond
}

// step begins something random.
func (r *lateRun) step() {
	of := r.rng.IntN(len(r.parties))
	p := r.parties[of]
	r.mu.Lock()
	gone := p.gone
	r.mu.Unlock()
	switch chance := r.rng.IntN(100); {
	case gone:
	case chance < 10:
		r.kill(p, of)
	case chance < 20:
		r.lose(p, of, losesRequest+r.rng.Int32N(2))
	default:
		r.arrive(p, of)
	}
	synctest.Wait()
}

// kill ends a process: nobody answers for what it holds, or waits for.
func (r *lateRun) kill(p *party, of int) {
	p.kill()
	r.mu.Lock()
	defer r.mu.Unlock()
	p.gone = true
	r.say("client %d dies", of)
	for _, w := range r.wants {
		if w.of == of && w.till.IsZero() {
			w.till, w.dead = time.Now(), true
		}
	}
	p.cancel()
}

// lose has a process lose its next request, or the answer to it.
func (r *lateRun) lose(p *party, of int, what int32) {
	p.loses.Store(what)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.say("client %d is to lose its next %s", of, map[int32]string{losesRequest: "request", losesAnswer: "answer"}[what])
}

func (r *lateRun) lostCount() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.losses)
}

func (r *lateRun) noteLost(of int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.say("client %d loses it", of)
	r.losses = append(r.losses, lateLoss{of, time.Now()})
}

// arrive has somebody want a random set.
func (r *lateRun) arrive(p *party, of int) {
	w := &lateWant{of: of, who: fmt.Sprintf("%d of client %d", len(r.wants), of), modes: map[string]bool{}}
	for len(w.modes) == 0 {
		for _, key := range []string{"a", "b"} {
			if random.Chance(r.rng, 45) {
				w.modes[key] = random.Chance(r.rng, 65)
			}
		}
	}
	if random.Chance(r.rng, 25) {
		w.polls = r.between(60, 400)
	}
	life := newLateLife(r)
	r.mu.Lock()
	w.from = time.Now()
	r.wants = append(r.wants, w)
	r.say("%s wants %v, polls %v, %+v", w.who, w.modes, w.polls, *life)
	r.mu.Unlock()
	lost := r.lostCount()
	r.wg.Go(func() { r.live(p, w, life) })
	synctest.Wait()
	if r.lostCount() > lost {
		time.Sleep(time.Second) // until it has come where it comes sooner than the next one
	}
}

// live is what somebody does who wants keys, until it has them no more.
func (r *lateRun) live(p *party, w *lateWant, life *lateLife) {
	ctx := p.ctx
	if life.patience > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, life.patience)
		defer cancel()
	}
	opt := &redislock.Options{Queue: w.polls == 0, HoldAtLeast: life.least, Fenced: life.fenced}
	if w.polls > 0 {
		opt.RetryStrategy = redislock.LinearBackoff(w.polls)
	}
	var write, read []string
	for _, key := range slices.Sorted(maps.Keys(w.modes)) {
		if w.modes[key] {
			write = append(write, r.world.Key(key))
		} else {
			read = append(read, r.world.Key(key))
		}
	}
	lock, err := p.client.ObtainSet(ctx, redislock.Set{Write: write, Read: read}, life.ttl, opt)
	r.mu.Lock()
	if p.gone {
		r.mu.Unlock()
		return
	}
	w.till = time.Now()
	r.say("%s: %v", w.who, err)
	if err != nil {
		r.mu.Unlock()
		return
	}
	h := &lateHolder{run: r, party: p, lock: lock, ttl: life.ttl, least: w.till.Add(life.least), holds: map[string]*lateHold{}}
	for key, writes := range w.modes {
		h.take(key, writes, life.ttl, w)
	}
	r.mu.Unlock()
	for _, do := range life.does {
		time.Sleep(do.after)
		if !h.do(do) {
			return
		}
	}
}

// Whatever happens in which order, everybody has what it wants as soon as nothing is in its way: see lateStory. Half of those
// who wait stand in line where others poll, hold what they got for less or more than its lease, or die. More histories are played
// with -late-seeds=2000, and one again with -late-seeds=1 -late-first=SEED; as far as jitter is concerned it is another one.
func TestQueueNobodyIsLateAtRandom(t *testing.T) {
	t.Parallel()
	for seed := range uint64(*lateSeeds) {
		t.Run(fmt.Sprint("seed ", seed+*lateFirst), func(t *testing.T) {
			t.Parallel()
			world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
				r := newLateRun(t, w, mini, seed+*lateFirst, lateParties)
				for range lateSteps {
					r.step()
					time.Sleep(r.between(1, 250))
				}
				r.wg.Wait()
				if late := r.late(); len(late) > 0 {
					t.Errorf("%q of\n%s", late, &r.lateStory)
				}
				for _, p := range r.parties {
					p.cancel()
				}
			})
		})
	}
}
