package work

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/seed-14de3678/redislock/internal/pace"
	"github.com/seed-14de3678/redislock/proof/random"
	"github.com/seed-14de3678/redislock/proof/torture/history"
)

// A caller makes one operation at a time.
type caller struct {
	*process
	number int
	rng    *rand.Rand // of the goroutine of the caller alone
	pair   *pair
	cards  []int // that deal has not given yet
}

// call writes the Call of an operation, and returns its number.
func (c *caller) call(e history.Event) int {
	op := int(c.ops.Add(1))
	e.Kind, e.Op, e.Client = history.Call, op, c.number
	c.out.Add(e)
	return op
}

// ask makes an operation that is about no lock of the caller, and writes it down.
func (c *caller) ask(ctx context.Context, e history.Event, fn func() error) error {
	op := c.call(e)
	err := fn()
	r := history.Event{Kind: history.Return, Op: op, Client: c.number, Action: e.Action, Package: e.Package, Lock: e.Lock}
	r.Fence = e.Fence
	describe(ctx, &r, err)
	c.out.Add(r)
	return err
}

// think waits for a moment before the next step.
func (c *caller) think(ctx context.Context) {
	pace.Sleep(ctx, random.Between(c.rng, time.Millisecond, 15*time.Millisecond))
}

// work is what a caller does while it holds a lock.
func (c *caller) work(ctx context.Context) {
	pace.Sleep(ctx, random.Between(c.rng, 0, 15*time.Millisecond))
}

// errImpatient is the cause of the contexts that a caller ends.
var errImpatient = errors.New("the caller does not want to wait any longer")

// brief returns a context that ends after d.
func brief(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, d, errImpatient)
}

// ending returns the context of an operation that ends a lock, or changes its lease. Most give the servers enough time;
// a few end too soon, or have ended before.
func (c *caller) ending() (context.Context, context.CancelFunc) {
	switch {
	case random.Chance(c.rng, c.load.rough()):
		return brief(context.Background(), random.Between(c.rng, 0, 3*time.Millisecond))
	default:
		return brief(context.Background(), 3*time.Second)
	}
}

// The bits of a card: what is rare if each is left to chance, and all of them together come up soon if they are dealt.
const (
	underToken = 1 << iota
	byCallback
	mixedSet
	allCards
)

// deal returns a card. Each comes once before any comes again.
func (c *caller) deal() int {
	if len(c.cards) == 0 {
		c.cards = c.rng.Perm(allCards)
	}
	card := c.cards[0]
	c.cards = c.cards[1:]
	return card
}

// keys picks one to three keys that can be one set.
func (c *caller) keys() []string {
	group := c.groups[c.rng.IntN(len(c.groups))]
	return c.some(group, 3)
}

// some picks at least one of the keys, and so many at most.
func (c *caller) some(keys []string, most int) []string {
	n := 1 + c.rng.IntN(min(most, len(keys)))
	var picked []string
	for _, i := range c.rng.Perm(len(keys))[:n] {
		picked = append(picked, keys[i])
	}
	return picked
}

// lease is a ttl.
func (c *caller) lease() time.Duration {
	if c.load.Endless || c.Target.Endless {
		return LongLease
	}
	return ShortLease * time.Duration(1+c.rng.IntN(3))
}
