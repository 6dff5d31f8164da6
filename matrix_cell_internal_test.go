package redislock

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// A matrixID names a cell: which stray, in which way it was not answered, what follows, and when it lands.
type matrixID struct {
	row *matrixRow
	// way is 'R': the operation sent it again, and that was answered; 'G': it gave up; 'C': its context ended.
	way     byte
	follows string // codes of operations
	// lands is 'o': before the operation's own next try is executed; 'p': between that and its answer;
	// 'b' and 'm': the same of the last operation that follows; 'a': after its answer; 'r': after the
	// Release; 'n': within the next hold.
	lands byte
}

func (id matrixID) String() string {
	return fmt.Sprintf("%s/%c/%s/%c", id.row.name, id.way, id.follows, id.lands)
}

// A matrixPlace is where cells are: a server, and a world to sleep in.
type matrixPlace struct {
	dial   func() (net.Conn, error)
	keep   func(words []string) (deliver func() []byte) // of a relay; nil: there is none
	eye    matrixEye
	slack  time.Duration // by which leases may be off
	brief  time.Duration // until a context ends in the middle of an operation
	settle func()        // waits until nothing goes on
	real   time.Duration // time is; how long clean-ups may take
	prefix string        // of keys and tokens
}

// A matrixCell is one run.
type matrixCell struct {
	matrixID
	matrixPlace
	t     *testing.T
	keys  []string
	token string // empty if it is generated

	wire        *matrixWire
	main, other *Client
	hold        *Lock          // the newest
	older       []*Lock        // others of the token that count on their keys
	gone        []*Lock        // and those that do not any more
	reader      *Lock          // of another owner
	unreleased  *Lock          // whose Release was not answered
	unsure      map[*Lock]bool // the modes are not known
	kept        bool           // the Release before was not answered: what obtains goes on with the number
	fence       int64          // the greatest number so far

	// With the mutex of the wire held.
	armed   byte // when the stray lands in the next request
	frees   bool // releases are no clean-ups
	mutes   bool // requests are executed, not answered
	strayed int  // requests of the stray's operation
	calling bool // the stray's operation is under way

	before  []matrixValues // the landing
	began   time.Time
	closers []func()
	mu      sync.Mutex
	faults  []string // with mu held
	notes   []string // with mu held
}

func newMatrixCell(t *testing.T, place matrixPlace, id matrixID) *matrixCell {
	t.Helper()
	c := &matrixCell{matrixID: id, matrixPlace: place, t: t, began: time.Now(), unsure: make(map[*Lock]bool)}
	for _, name := range []string{"a", "b", "c"}[:id.row.size] {
		c.keys = append(c.keys, place.prefix+name)
	}
	if !id.row.generated {
		c.token = place.prefix + "token"
	}
	c.wire = newMatrixWire(place.dial)
	c.wire.keep = place.keep
	c.wire.note, c.wire.around = c.note, c.around
	c.wire.follow(c.rule)
	return c
}

// run runs the cell and returns what is wrong; void is why it means nothing.
func (c *matrixCell) run() (faults []string, void string) {
	defer func() {
		for _, closes := range slices.Backward(c.closers) {
			closes()
		}
	}()
	c.main = c.newClient()
	c.closers = append(c.closers, c.wire.hangUp) // whoever still waits for it goes on
	c.live()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.faults, c.wire.invalid
}

// newClient makes a Client with a Redis client of its own.
func (c *matrixCell) newClient() *Client {
	rdb := redis.NewClient(&redis.Options{
		Addr: "127.0.0.1:0", Dialer: c.wire.Dial, ReadTimeout: -1, WriteTimeout: -1, MaxRetries: c.retries(),
		DisableIdentity: true, Protocol: 2, // what else it would do in the background never ends
	})
	client := New(rdb)
	c.closers = append(c.closers, func() { _ = rdb.Close() }, client.Close)
	return client
}

// retries is how often a request is sent again: where time is real, as often as by default, for short pauses.
func (c *matrixCell) retries() int {
	if c.real > 0 {
		return 3
	}
	return 1
}

// second is another one.
func (c *matrixCell) second() *Client {
	if c.other == nil {
		c.other = c.newClient()
	}
	return c.other
}

// live is the course of the cell.
func (c *matrixCell) live() {
	if !c.strays() {
		return
	}
	for i, code := range []byte(c.follows) {
		op := matrixOperations[code]
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
	if _, landed := c.wire.isKept(); !landed || len(c.follows) == 1 {
		if c.row.line {
			c.otherGoes()
		}
		c.does(matrixOperations[c.lastNext()])
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
func (c *matrixCell) lastNext() byte {
	if c.row.nexts == "R" {
		return 'R'
	}
	return 'W'
}

// strays obtains the first hold and sends the stray. It reports false if there is none.
func (c *matrixCell) strays() bool {
	if c.row.setup != nil {
		c.row.setup(c)
	}
	if c.row.base != 0 {
		if err := c.takes(c.first(c.t.Context(), c.row.base, c.options())); err != nil {
			c.fault("the first hold: %v", err)
			return false
		}
	}
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Minute)
	defer cancel()
	if c.way == 'C' && c.row.code != 'n' && c.row.scripts != "release" {
		ending, stop := c.endsWhen(ctx, func() bool {
			kept, _ := c.wire.isKept()
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
	if kept, _ := c.wire.isKept(); !kept {
		c.wire.void("there was no stray")
		return false
	}
	answered := c.way == 'R' && !strings.ContainsRune("ijk", rune(c.row.code)) || c.row.code == 'n' || c.row.scripts == "release"
	if c.row.code == 'z' && c.lands == 'o' && errors.Is(err, ErrLockNotHeld) {
		err = nil // an attached lock cannot know whether it was the one that has freed the keys
	}
	if answered && err != nil || !answered && !errors.Is(err, ErrUnknownOutcome) && c.way != 'R' {
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
func (c *matrixCell) sends(ctx context.Context) error {
	switch op := matrixOperations[c.row.code]; {
	case c.row.run != nil:
		return c.row.run(ctx, c)
	case c.row.code != 'n':
		return op.run(ctx, c)
	}
	before := c.wire.answeredOf("refresh")
	for range 280 {
		c.sleep(250 * time.Millisecond)
		if kept, _ := c.wire.isKept(); kept && (c.way != 'R' || c.wire.answeredOf("refresh") > before) {
			return nil
		}
	}
	return errors.New("nothing was renewed")
}

// rule decides what becomes of a request.
func (c *matrixCell) rule(r *matrixRequest) matrixFate {
	cleansUp := r.script == "release" && !c.frees
	switch {
	case r.isOfOthers():
		return matrixPass
	case c.mutes:
		return matrixMute
	case c.calling && (c.row.scripts == "" || c.row.scripts == r.script):
		return c.ruleOfStray()
	case cleansUp && c.way == 'G' && !c.row.generated && c.wire.stray != nil && !c.wire.over:
		return matrixLose
	case cleansUp || c.armed == 0 || c.calling:
		return matrixPass
	}
	armed := c.armed
	c.armed = 0
	if armed == 'b' {
		return matrixBefore
	}
	return matrixBetween
}

func (c *matrixCell) ruleOfStray() matrixFate {
	c.strayed++
	switch {
	case c.strayed == 1 && c.way == 'C':
		return matrixHang
	case c.strayed == 1:
		return matrixKeep
	case c.way == 'G':
		return matrixLose
	case c.strayed == 2 && c.way == 'R' && c.lands == 'o':
		return matrixBefore
	case c.strayed == 2 && c.way == 'R' && c.lands == 'p':
		return matrixBetween
	}
	return matrixPass
}

// set changes what the rule goes by.
func (c *matrixCell) set(change func()) {
	c.wire.mu.Lock()
	defer c.wire.mu.Unlock()
	change()
}

// arm has the stray land in the next request, if it is to do so.
func (c *matrixCell) arm(lands byte) {
	if lands == 'b' || lands == 'm' {
		c.set(func() { c.armed = lands })
	}
}

// does runs an operation that follows, and checks that it takes no time and succeeds.
func (c *matrixCell) does(op *matrixOperation) {
	if c.hold == nil && !op.next && (op != matrixOperations['r'] || c.unreleased == nil) {
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
	if op != matrixOperations['n'] && (!c.row.generated || c.row.line) && took > time.Second+c.slack {
		c.fault("%s waits for %v", op.name, took)
	}
	c.check("after " + op.name)
}
