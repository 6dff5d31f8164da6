package matrix_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
)

// A cellID names a cell: which stray, in which way it was not answered, what follows, and when it lands.
type cellID struct {
	row *row
	// way is 'R': the operation sent it again, and that was answered; 'G': it gave up; 'C': its context ended.
	way     byte
	follows string // codes of operations
	// lands is 'o': before the operation's own next try is executed; 'p': between that and its answer;
	// 'b' and 'm': the same of the last operation that follows; 'a': after its answer; 'r': after the
	// Release; 'n': within the next hold.
	lands byte
}

func (id cellID) String() string {
	return fmt.Sprintf("%s/%c/%s/%c", id.row.name, id.way, id.follows, id.lands)
}

// A site is where cells are: a server, and a world to sleep in.
type site struct {
	dial   func() (net.Conn, error)
	keep   func(words []string) (deliver func() []byte) // of a relay; nil: there is none
	eye    eye
	slack  time.Duration // by which leases may be off
	brief  time.Duration // until a context ends in the middle of an operation
	settle func()        // waits until nothing goes on
	real   time.Duration // time is; how long clean-ups may take
	prefix string        // of keys and tokens
}

// A cell is one run.
type cell struct {
	cellID
	site
	t     *testing.T
	keys  []string
	token string // empty if it is generated

	network     *network
	main, other *redislock.Client
	hold        *redislock.Lock              // the newest
	older       []*redislock.Lock            // others of the token that count on their keys
	gone        []*redislock.Lock            // and those that do not any more
	reader      *redislock.Lock              // of another owner
	unreleased  *redislock.Lock              // whose Release was not answered
	unsure      map[*redislock.Lock]bool     // the modes are not known
	writes      map[*redislock.Lock][]string // the keys that it writes, as far as they are known
	obtains     atomic.Int64                 // how many Obtains there were, where each has a token of its own
	kept        bool                         // the Release before was not answered: what obtains goes on with the number
	fence       int64                        // the greatest number so far

	// With the mutex of the network held.
	armed   byte // when the stray lands in the next request
	frees   bool // releases are no clean-ups
	mutes   bool // requests that obtain are executed, not answered
	strayed int  // requests of the stray's operation
	calling bool // the stray's operation is under way

	before  []stored // the landing
	began   time.Time
	closers []func()
	mu      sync.Mutex
	faults  []string // with mu held
	notes   []string // with mu held
}

func newCell(t *testing.T, place site, id cellID) *cell {
	t.Helper()
	c := &cell{cellID: id, site: place, t: t, began: time.Now(), unsure: make(map[*redislock.Lock]bool), writes: make(map[*redislock.Lock][]string)}
	for _, name := range []string{"a", "b", "c"}[:id.row.size] {
		c.keys = append(c.keys, place.prefix+name)
	}
	if !id.row.generated {
		c.token = place.prefix + "token"
	}
	c.network = newNetwork(place.dial)
	c.network.keep = place.keep
	c.network.note, c.network.around = c.note, c.around
	c.network.follow(c.rule)
	return c
}

// run runs the cell and returns what is wrong; void is why it means nothing.
func (c *cell) run() (faults []string, void string) {
	defer func() {
		for _, closes := range slices.Backward(c.closers) {
			closes()
		}
	}()
	c.main = c.newClient()
	c.closers = append(c.closers, c.network.hangUp) // whoever still waits for it goes on
	c.live()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.faults, c.network.invalid
}

// newClient makes a Client with a Redis client of its own.
func (c *cell) newClient() *redislock.Client {
	rdb := redis.NewClient(&redis.Options{
		Addr: "127.0.0.1:0", Dialer: c.network.Dial, ReadTimeout: -1, WriteTimeout: -1, MaxRetries: c.retries(),
		DisableIdentity: true, Protocol: 2, // what else it would do in the background never ends
	})
	client := redislock.New(rdb, redislock.WithHooks(redislock.Hooks{
		Lost: func(_ context.Context, e redislock.Event) { c.note("%v is lost: %v", e.Keys, e.Err) },
	}))
	c.closers = append(c.closers, func() { _ = rdb.Close() }, client.Close)
	return client
}

// retries is how often a request is sent again: where time is real, as often as by default, for short pauses.
func (c *cell) retries() int {
	if c.real > 0 {
		return 3
	}
	return 1
}

// second is another one.
func (c *cell) second() *redislock.Client {
	if c.other == nil {
		c.other = c.newClient()
	}
	return c.other
}

// live is the course of the cell.
func (c *cell) live() {
	if !c.strays() {
		return
	}
	for i, code := range []byte(c.follows) {
		op := operations[code]
		if op.next {
			c.letGo()
		}
		if i == len(c.follows)-1 {
			c.arm(c.lands)
		}
		c.does(op)
		if i == len(c.follows)-1 && strings.ContainsRune("abmop", rune(c.lands)) {
			c.land()
		}
	}
	c.letGo()
	if c.lands == 'r' {
		c.land()
	}
	if _, landed := c.network.isKept(); !landed || len(c.follows) == 1 {
		if c.row.line {
			c.otherGoes()
		}
		c.does(operations[c.lastNext()])
		if c.lands == 'n' {
			c.land()
		}
		c.dwell(6)
		c.letGo()
	}
	c.otherGoes()
	c.wantNothing()
}

// lastNext is what obtains at the end.
func (c *cell) lastNext() byte {
	if c.row.nexts == "R" {
		return 'R'
	}
	return 'W'
}

// strays obtains the first hold and sends the stray. It reports false if there is none.
func (c *cell) strays() bool {
	if c.row.setup != nil {
		c.row.setup(c)
	}
	if c.row.base != 0 {
		if err := c.first(c.t.Context(), c.row.base, c.options()); err != nil {
			c.fault("the first hold: %v", err)
			return false
		}
	}
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Minute)
	defer cancel()
	if c.way == 'C' && c.row.code != 'n' && c.row.scripts != "release" {
		ending, stop := c.endsWhen(ctx, func() bool {
			kept, _ := c.network.isKept()
			return kept
		})
		defer stop()
		ctx = ending
	}
	c.note("the stray: %s", c.row.name)
	c.set(func() { c.calling = true; c.frees = c.row.scripts != "release" })
	err := c.sends(ctx)
	c.set(func() { c.calling, c.frees = false, false })
	c.settle()
	c.note("it returns %v", err)
	if kept, _ := c.network.isKept(); !kept {
		c.network.void("there was no stray")
		return false
	}
	answered := c.way == 'R' && !strings.ContainsRune("ijk", rune(c.row.code)) || c.row.code == 'n' || c.row.scripts == "release"
	if c.row.code == 'z' && c.lands == 'o' && errors.Is(err, redislock.ErrLockNotHeld) {
		err = nil // an attached lock cannot know whether it was the one that has freed the keys
	}
	if answered && err != nil || !answered && !errors.Is(err, redislock.ErrUnknownOutcome) && c.way != 'R' {
		c.fault("the stray's operation returns %v", err)
		return false
	}
	if c.row.afterwards != nil {
		c.row.afterwards(c)
	}
	c.check("after the stray was sent")
	return true
}

// sends runs the operation of the stray.
func (c *cell) sends(ctx context.Context) error {
	switch op := operations[c.row.code]; {
	case c.row.run != nil:
		return c.row.run(ctx, c)
	case c.row.code != 'n':
		return op.run(ctx, c)
	}
	before := c.network.answeredOf("refresh")
	for range 280 {
		c.sleep(250 * time.Millisecond)
		if kept, _ := c.network.isKept(); kept && (c.way != 'R' || c.network.answeredOf("refresh") > before) {
			return nil
		}
	}
	return errors.New("nothing was renewed")
}

// rule decides what becomes of a request.
func (c *cell) rule(r *request) fate {
	cleansUp := r.script == "release" && !c.frees
	switch {
	case r.isOfOthers():
		return fatePass
	case c.mutes && r.script != "release": // a clean-up may be sent before its Obtain has returned
		return fateMute
	case c.calling && (c.row.scripts == "" || c.row.scripts == r.script):
		return c.ruleOfStray()
	case cleansUp && c.way == 'G' && !c.row.generated && c.network.stray != nil && !c.network.over:
		return fateLose
	case cleansUp || c.armed == 0 || c.calling:
		return fatePass
	}
	armed := c.armed
	c.armed = 0
	if armed == 'b' {
		return fateBefore
	}
	return fateBetween
}

func (c *cell) ruleOfStray() fate {
	c.strayed++
	switch {
	case c.strayed == 1 && c.way == 'C':
		return fateHang
	case c.strayed == 1:
		return fateKeep
	case c.way == 'G':
		return fateLose
	case c.strayed == 2 && c.way == 'R' && c.lands == 'o':
		return fateBefore
	case c.strayed == 2 && c.way == 'R' && c.lands == 'p':
		return fateBetween
	}
	return fatePass
}

// set changes what the rule goes by.
func (c *cell) set(change func()) {
	c.network.mu.Lock()
	defer c.network.mu.Unlock()
	change()
}

// arm has the stray land in the next request, if it is to do so.
func (c *cell) arm(lands byte) {
	if lands == 'b' || lands == 'm' {
		c.set(func() { c.armed = lands })
	}
}

// does runs an operation that follows, and checks that it takes no time and succeeds.
func (c *cell) does(op *operation) {
	if c.hold == nil && !op.next && (op != operations['r'] || c.unreleased == nil) {
		return // after a fault
	}
	if op.weakens {
		c.forgetOlder()
	}
	ctx, cancel := context.WithTimeout(c.t.Context(), 20*time.Second)
	defer cancel()
	c.note("%s", op.name)
	began := time.Now()
	c.set(func() { c.frees = op.frees })
	err := op.run(ctx, c)
	c.set(func() { c.frees, c.armed = false, 0 })
	c.settle()
	took := time.Since(began)
	if err != nil {
		c.fault("%s: %v", op.name, err)
	}
	if op != operations['n'] && (!c.row.generated || c.row.line) && took > time.Second+c.slack {
		c.fault("%s waits for %v", op.name, took)
	}
	c.check("after " + op.name)
}
