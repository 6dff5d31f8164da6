package property_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A seat is where a lock is kept, with what it is to take itself to hold.
type seat struct {
	token string // of all its locks; empty: each has a token of its own
	lock  *redislock.Lock
	owner string // in the model
	set   map[string]mode
	ttl   time.Duration // of its last lease
	least span          // HoldAtLeast
	lost  bool          // it knows
	over  bool          // released or left
}

// A run is one sequence of operations.
type run struct {
	t       *testing.T
	rdb     *redis.Client
	client  *redislock.Client
	other   *redislock.Client // of the same process
	bunches [][]string
	keys    []string             // all of them
	some    []string             // those that are inspected
	mini    *miniredis.Miniredis // in virtual time; nil: a real server
	longest time.Duration        // ttl

	steps    int
	model    model
	seats    []*seat
	n        int               // of locks so far
	own      map[string]bool   // owners that were given no token
	tokens   map[string]string // by owner, as far as they are known
	owners   map[string]string // by token
	late     func()            // called in place of an answer
	executed bool              // what late is the answer to
	said     []string
	before   string // what the model said before the last operation
}

// newRun makes a run whose last keys are `many`. All tests of a process know of each other's tokens, so each has its own.
func newRun(t *testing.T, rdb *redis.Client, tokens string, many int) *run {
	t.Helper()
	r := &run{t: t, rdb: rdb, model: newModel(), own: map[string]bool{}, tokens: map[string]string{}, owners: map[string]string{}}
	r.bunches = [][]string{{"{k}a"}, {"{k}b"}, {"{k}c"}}
	if many > 1 {
		r.bunches[2] = world.Numbered("{k}c", many)
	}
	r.keys = slices.Concat(r.bunches...)
	r.some = r.keys
	if many > 1 {
		r.some = slices.Concat(r.bunches[0], r.bunches[1], r.bunches[2][:2], r.bunches[2][many-2:])
	}
	for _, token := range []string{"", "", "", "plain", "plain", "fenced", "fenced"} {
		r.seats = append(r.seats, &seat{token: token})
		if token != "" {
			r.tokens[token] = tokens + " " + token
			r.owners[r.tokens[token]] = token
		}
	}
	r.client = world.NewClient(t, rdb, redislock.WithMaxKeys(len(r.keys)))
	r.other = world.NewClient(t, rdb, redislock.WithMaxKeys(len(r.keys)))
	r.loseAnswers()
	return r
}

// scaled is a time as this run has it: on a real server so long that it does not end.
func (r *run) scaled(d time.Duration) time.Duration {
	if r.mini == nil {
		d *= 3600
	}
	r.longest = max(r.longest, d)
	return d
}

// now is the server's time.
func (r *run) now() time.Time {
	if r.mini != nil {
		return time.Now()
	}
	now, err := r.rdb.Time(r.t.Context()).Result()
	if err != nil {
		r.wrong("time: %v", err)
	}
	return now
}

// pause is how long a busy machine may stop a real server in the middle of a script, between its look at the clock and at what is
// left of a lease. No two leases there are so much alike.
const pause = 10 * time.Second

// during calls fn, and returns when that was.
func (r *run) during(fn func()) (at span) {
	at.from = r.now()
	fn()
	at.to = r.now()
	if r.mini == nil {
		return span{at.from.Add(-pause), at.to.Add(pause)}
	}
	return at
}

// do makes one operation, and compares what is in Redis then with the model.
func (r *run) do(c *choices) {
	r.before = r.model.String()
	s := r.seats[c.next(len(r.seats))]
	what := c.next(13)
	if s.lock == nil && what < 10 {
		what = 0
	}
	switch what {
	case 0, 1, 2:
		r.obtain(r.client, s, c)
	case 3:
		r.refresh(s, r.scaled(choose(c, time.Second, 200*time.Millisecond, 20*time.Second)))
	case 4:
		r.release(s)
	case 5:
		r.releaseKeys(s, c)
	case 6:
		r.convert(s, choose(c, read, write))
	case 7:
		r.leave(s, r.scaled(choose(c, 700*time.Millisecond, 5*time.Second, -time.Second)))
	case 8, 9:
		r.answeredLate(s, c)
	case 10:
		r.breaks(c.set(r.bunches))
	default:
		r.sleep(choose(c, 150*time.Millisecond, 700*time.Millisecond, 3*time.Second, 20*time.Second))
	}
	r.settle()
	r.inspect()
	r.compare()
}

func (r *run) say(format string, args ...any) { r.said = append(r.said, fmt.Sprintf(format, args...)) }

func (r *run) wrong(format string, args ...any) {
	r.t.Helper()
	r.t.Fatalf("%s\nbefore the last step the model said:\n%s\nand after it:\n%s\nwhat was done:\n  %s",
		fmt.Sprintf(format, args...), r.before, r.model, strings.Join(r.said, "\n  "))
}

// settle lets pass the moment at which a lease may end. Servers do not agree about that one.
func (r *run) settle() {
	for r.mini != nil && r.model.ends(time.Now().Add(-slack), 2*slack) {
		time.Sleep(slack)
	}
	r.model.expire(r.now())
}

// wantLost wants err to say that the lock is not held any more, if that is so.
func (r *run) wantLost(s *seat, err error, missing []string) bool {
	r.t.Helper()
	if !s.over && !s.lost && len(missing) == 0 {
		return false
	}
	if !errors.Is(err, redislock.ErrLockNotHeld) {
		r.wrong("got %v, want ErrLockNotHeld; not held: %d", err, len(missing))
	}
	s.lost = s.lost || !s.over
	return true
}

func (r *run) release(s *seat) {
	r.say("%s: release", s)
	missing := r.model.lacks(s.owner, s.set)
	var err error
	at := r.during(func() { err = s.lock.Release(r.t.Context()) })
	r.ended(s, s.set, at, s.least, missing, err)
	s.over = true
}

// ended frees a set, or leaves it until a certain time, and wants err to be right.
func (r *run) ended(s *seat, set map[string]mode, at, until span, missing []string, err error) {
	r.t.Helper()
	switch {
	case s.over || len(missing) > 0:
		if !errors.Is(err, redislock.ErrLockNotHeld) {
			r.wrong("got %v, want ErrLockNotHeld; not held: %d", err, len(missing))
		}
	case err != nil:
		r.wrong("got %v, want no error", err)
	}
	if s.over {
		return
	}
	stays := until.to.After(at.from)
	until.to = until.to.Add(at.to.Sub(at.from)) // the rest is reckoned before it is sent
	for key := range set {
		switch w, _, ok := r.model.of(key, s.owner); {
		case ok && stays:
			r.model.leave(key, w, until)
		case ok:
			r.model.remove(key, w)
		}
	}
}

// releaseKeys frees some of the keys, from one of them on.
func (r *run) releaseKeys(s *seat, c *choices) {
	all := slices.Sorted(maps.Keys(s.set))
	from := c.next(len(all))
	keys := all[from:min(len(all), from+(len(all)+1)/2)]
	if len(keys) == len(all) {
		r.release(s)
		return
	}
	r.say("%s: release %d from %q on", s, len(keys), keys[0])
	part := map[string]mode{}
	for _, key := range keys {
		part[key] = s.set[key]
	}
	missing := r.model.lacks(s.owner, part)
	var err error
	at := r.during(func() { err = s.lock.ReleaseKeys(r.t.Context(), keys) })
	if s.lost { // then nothing is done
		r.wantLost(s, err, nil)
		return
	}
	r.ended(s, part, at, s.least, missing, err)
	if !s.over {
		s.set = maps.Clone(s.set)
		maps.DeleteFunc(s.set, func(key string, _ mode) bool { return part[key] != "" })
	}
}

func (r *run) leave(s *seat, ttl time.Duration) {
	r.say("%s: leave for %v", s, ttl)
	missing := r.model.lacks(s.owner, s.set)
	var err error
	at := r.during(func() { err = s.lock.Leave(r.t.Context(), ttl) })
	until := s.least
	if ttl > 0 {
		until = until.later(at.after(ttl))
	}
	r.ended(s, s.set, at, until, missing, err)
	s.over = true
}

func (r *run) breaks(set map[string]mode) {
	names := slices.Sorted(maps.Keys(set))
	r.say("break %d from %q on", len(names), names[0])
	var broken []redislock.Holder
	var err error
	at := r.during(func() { broken, err = r.client.Break(r.t.Context(), names, "test") })
	if err != nil {
		r.wrong("got %v, want the keys broken", err)
	}
	by := map[string][]redislock.Holder{}
	for _, b := range broken {
		by[b.Key] = append(by[b.Key], b)
	}
	for _, key := range names {
		if len(by[key]) != len(r.model.holds[key]) {
			r.wrong("%v were broken, want %d", by[key], len(r.model.holds[key]))
		}
		for w, h := range r.model.holds[key] {
			r.wantHolder(by[key], w, h, at)
		}
		r.model.free(key)
	}
}

func (r *run) sleep(d time.Duration) {
	if r.mini != nil {
		r.say("%v pass", d)
		time.Sleep(d)
	}
}
