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
	"github.com/seed-14de3678/redislock/internal/check"
)

// A cellID names a cell: which request is late, in which way it was not answered, what follows, and when it arrives.
type cellID struct {
	row *row
	// way is 'R': the operation sent it again, and that was answered; 'G': it gave up; 'C': its context ended.
	way     byte
	follows string // codes of operations
	// arrives is 'o': before the operation's own next try is executed; 'p': between that and its answer;
	// 'b' and 'm': the same of the last operation that follows; 'a': after its answer; 'r': after the
	// Release; 'n': within the next hold.
	arrives byte
}

func (id cellID) String() string {
	return fmt.Sprintf("%s/%c/%s/%c", id.row.name, id.way, id.follows, id.arrives)
}

// A site is where cells run: a server, and what they have to know about its clock.
type site struct {
	dial   func() (net.Conn, error)
	keep   func(words []string) (deliver func() []byte) // of a relay; nil: there is none
	eye    eye
	slack  time.Duration // by which leases may be off
	brief  time.Duration // until a context ends in the middle of an operation
	settle func()        // waits until nothing goes on
	real   time.Duration // time is; how long clean-ups may take
	prefix string        // of keys and tokens
	hooks  []redis.Hook  // of each Redis client
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
	locks
	steering
	journal
	before  []stored // what was stored before the late request was executed
	written int      // how many other requests had been written by then
	busy    bool     // some of them were not answered
	closers []func()
}

// locks are what the operations of a cell have obtained, and what is known of it.
type locks struct {
	hold       *redislock.Lock              // the newest
	older      []*redislock.Lock            // others of the token that count on their keys
	gone       []*redislock.Lock            // others of the token that do not count on their keys any more
	reader     *redislock.Lock              // of another owner
	unreleased *redislock.Lock              // its Release was not answered
	behind     chan outcome                 // of the latest Obtain that waits behind others of its Client
	unknown    map[*redislock.Lock]bool     // the locks whose modes are not known
	writes     map[*redislock.Lock][]string // the keys that a lock writes, as far as they are known
	obtains    atomic.Int64                 // how many Obtains there were, where each has a token of its own
	leaving    leaving                      // what the last Leave has left, until its end
	kept       bool                         // the last Release was not answered: the next Obtain goes on with its numbers
	fence      int64                        // the greatest number so far
}

// steering is what the rule of a cell goes by. The mutex of the network guards it.
type steering struct {
	armed   byte // when the late request arrives during the next request
	frees   bool // releases are no clean-ups
	mutes   bool // requests that obtain are executed, not answered
	tries   int  // requests of the operation whose request is late
	calling bool // the operation of the late request is under way
}

// A journal is what has happened in a cell.
type journal struct {
	began  time.Time
	mu     sync.Mutex
	faults []string // under mu
	notes  []string // under mu
}

func newCell(t *testing.T, place site, id cellID) *cell {
	t.Helper()
	c := &cell{cellID: id, site: place, t: t}
	c.began, c.unknown, c.writes = time.Now(), make(map[*redislock.Lock]bool), make(map[*redislock.Lock][]string)
	for _, name := range []string{"a", "b", "c"}[:id.row.size] {
		c.keys = append(c.keys, place.prefix+name)
	}
	if !id.row.generated && !id.row.known {
		c.token = place.prefix + "token"
	}
	c.network = newNetwork(place.dial)
	c.network.keep = place.keep
	c.network.note, c.network.around = c.note, c.around
	c.network.follow(c.rule)
	return c
}

// run runs the cell and returns what is wrong. If void is not empty the run means nothing, and void is the reason.
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

// live is the course of the cell.
func (c *cell) live() {
	if !c.sendsLate() {
		return
	}
	for i, code := range []byte(c.follows) {
		op := operations[code]
		if op.next {
			c.letGo()
			c.awaitEnd()
		}
		if i == len(c.follows)-1 {
			c.arm(c.arrives)
		}
		c.does(op)
		if i == len(c.follows)-1 && strings.ContainsRune("abmop", rune(c.arrives)) {
			c.arrive()
		}
	}
	c.letGo()
	if c.arrives == 'r' {
		c.arrive()
	}
	if _, arrived := c.network.isKept(); !arrived || len(c.follows) == 1 {
		if c.row.line {
			c.otherGoes()
		}
		c.awaitEnd()
		c.does(operations[c.lastNext()])
		if c.arrives == 'n' {
			c.arrive()
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

// sendsLate obtains the first hold and sends the request that comes late. It reports false if there is none.
func (c *cell) sendsLate() bool {
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
	c.note("the late request: %s", c.row.name)
	c.set(func() { c.calling = true; c.frees = c.row.scripts != "release" })
	err := c.sends(ctx)
	c.set(func() { c.calling, c.frees = false, false })
	c.settle()
	c.note("it returns %v", err)
	if kept, _ := c.network.isKept(); !kept {
		c.network.void("no request was late")
		return false
	}
	answered := c.way == 'R' && !strings.ContainsRune("ijk", rune(c.row.code)) || c.row.code == 'n' || c.row.scripts == "release"
	if c.row.code == 'z' && c.arrives == 'o' && errors.Is(err, redislock.ErrLockNotHeld) {
		err = nil // an attached lock cannot know whether it was the one that has freed the keys
	}
	if answered && err != nil || !answered && !errors.Is(err, redislock.ErrUnknownOutcome) && c.way != 'R' {
		c.fault("the operation of the late request returns %v", err)
		return false
	}
	if c.row.afterwards != nil {
		c.row.afterwards(c)
	}
	c.check("after the late request was sent")
	return true
}

// sends runs the operation of the late request.
func (c *cell) sends(ctx context.Context) error {
	switch op := operations[c.row.code]; {
	case c.row.run != nil:
		return c.row.run(ctx, c)
	case c.row.code != 'n':
		return op.run(ctx, c)
	}
	return c.awaitsRenewal()
}

// awaitsRenewal waits until a late renewal was sent, and answered if it is to be.
func (c *cell) awaitsRenewal() error {
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
	case c.row.loses && c.network.late != nil && !c.network.over && !common(r.tokens, c.network.late.tokens):
		return fateLose
	case c.mutes && r.script != "release": // a clean-up may be sent before its Obtain has returned
		return fateMute
	case c.calling && (c.row.late == nil || c.row.late(c, r)) && (c.row.scripts == "" || c.row.scripts == r.script):
		return c.ruleOfLate()
	case cleansUp && c.way == 'G' && !c.row.generated && c.network.late != nil && !c.network.over:
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

func (c *cell) ruleOfLate() fate {
	c.tries++
	switch {
	case c.tries == 1 && c.way == 'C':
		return fateHang
	case c.tries == 1:
		return fateKeep
	case c.way == 'G':
		return fateLose
	case c.tries == 2 && c.way == 'R' && c.arrives == 'o':
		return fateBefore
	case c.tries == 2 && c.way == 'R' && c.arrives == 'p':
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

// arm has the late request arrive during the next request, if it is to do so.
func (c *cell) arm(arrives byte) {
	if arrives == 'b' || arrives == 'm' {
		c.set(func() { c.armed = arrives })
	}
}

// does runs an operation that follows, and checks that it succeeds without waiting.
func (c *cell) does(op *operation) {
	if c.hold == nil && !op.next && (op != operations['r'] || c.unreleased == nil) {
		return // after a fault
	}
	if op.lessens {
		c.forgetOlder()
	}
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Minute)
	defer cancel()
	c.note("%s", op.name)
	took := c.times()
	c.set(func() { c.frees = op.frees })
	err := op.run(ctx, c)
	c.set(func() { c.frees, c.armed = false, 0 })
	c.settle()
	waited := took()
	if err != nil {
		c.fault("%s: %v", op.name, err)
	}
	if op != operations['n'] && (!c.row.generated || c.row.line) && c.row.code != 'L' && waited > time.Second+c.slack {
		c.fault("%s waits for %v", op.name, waited)
	}
	c.check("after " + op.name)
}

// times begins to count how long an operation takes: on a real server without the time for which a busy machine had other things
// to do.
func (c *cell) times() (took func() time.Duration) {
	if c.real > 0 {
		return check.StartWatch(c.t).Took
	}
	began := time.Now()
	return func() time.Duration { return time.Since(began) }
}
