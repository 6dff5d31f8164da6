package work

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/seed-14de3678/redislock/proof/random"
	"github.com/seed-14de3678/redislock/proof/torture/history"
	"github.com/seed-14de3678/redislock/reentrant"
)

// mostUses is after how many obtains a pair takes another token.
const mostUses = 12

// A pair are two callers of a process who share a token, or are one owner.
type pair struct {
	mu     sync.Mutex
	number int
	token  string
	uses   int
	users  int      // obtains, and locks, that have the token at the moment
	keys   []string // that were obtained last

	owner  context.Context // of package reentrant; nil: there is none
	owners int             // callers who are it at the moment
}

// own returns the context of the owner that both callers are. When none is any more it is another one.
func (t *pair) own(ctx context.Context) context.Context {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.owners == 0 {
		t.owner = reentrant.NewOwner(ctx)
	}
	t.owners++
	return t.owner
}

func (t *pair) disown() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.owners--
}

// take returns the token for another obtain. It is a new one now and then, but not as long as somebody has the old one.
func (t *pair) take(c *caller) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.users == 0 && (t.token == "" || t.uses > mostUses) {
		t.number++
		t.token, t.uses, t.keys = fmt.Sprintf("own-%d-%d-%d-%d", c.Seed, c.Process, (c.number+1)/2, t.number), 0, nil
	}
	t.uses++
	t.users++
	return t.token
}

func (t *pair) give() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.users--
}

// tokens obtains locks under a token that another caller uses at the same time, and attaches to what that has obtained.
func tokens(ctx context.Context, c *caller) {
	r := c.waits(c.want(c.keys()), c.anyWay())
	r.token = c.pair.take(c)
	defer c.pair.give()
	if random.Chance(c.rng, 25) {
		c.attached(ctx, r.token)
		return
	}
	if random.Chance(c.rng, 30) {
		c.tell(r)
		r.opt.Watchdog = random.Chance(c.rng, 50)
	}
	if random.Chance(c.rng, 20) {
		if random.Chance(c.rng, 50) {
			r.mix()
		}
		c.with(ctx, r, func(ctx context.Context, h *hold) {
			h.keepForOther()
			h.work(ctx)
		})
		return
	}
	h := c.obtain(ctx, r)
	if h == nil {
		return
	}
	h.keepForOther()
	h.change(ctx)
	h.release()
}

// keepForOther has the other caller of the pair know which keys were obtained last.
func (h *hold) keepForOther() {
	h.pair.mu.Lock()
	defer h.pair.mu.Unlock()
	h.pair.keys = slices.Concat(h.write, h.read)
}

// attached is a handle for what was obtained last with the token.
func (c *caller) attached(ctx context.Context, token string) {
	c.pair.mu.Lock()
	keys := c.pair.keys
	c.pair.mu.Unlock()
	if len(keys) == 0 {
		return
	}
	h := c.attach(history.Plain, keys, token)
	if h.remaining() {
		h.refresh(c.lease())
		h.work(ctx)
	}
	if random.Chance(c.rng, 30) {
		h.release()
		return
	}
	h.end()
}

// attach makes a handle for what is held under a token.
func (c *caller) attach(pkg history.Package, keys []string, token string) *hold {
	h := &hold{caller: c, pkg: pkg, write: keys, longest: LongLease, over: make(chan struct{})}
	h.op = c.call(history.Event{Action: history.Attach, Package: pkg, Write: keys, Token: token})
	if pkg == history.Quorum {
		h.lock = c.quorum.Attach(keys, token)
	} else {
		h.lock = c.clients[0].Attach(keys, token)
	}
	h.add(history.Event{Kind: history.Return, Action: history.Attach, Lock: h.op, Outcome: history.OK})
	return h
}
