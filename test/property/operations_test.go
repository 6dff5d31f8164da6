package property_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// keys are those that everybody locks.
var keys = []string{"{k}a", "{k}b", "{k}c"}

func of(set map[string]mode, wanted mode) (keys []string) {
	for key, mode := range set {
		if mode == wanted {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// A seat is where a lock is kept, which has a token of its own. The lock is nil before the first Obtain.
type seat struct {
	lock  *redislock.Lock
	owner string          // in the model
	set   map[string]mode // what the lock takes itself to hold
	ttl   time.Duration   // of its last lease
	least time.Time       // HoldAtLeast
	lost  bool            // it knows
	over  bool            // released or left
}

// A run is one sequence of operations.
type run struct {
	t      *testing.T
	w      *world.World
	model  model
	seats  []*seat
	n      int // of locks so far
	said   []string
	before string // what the model said before the last operation
}

// do makes one operation, and compares what is in Redis then with the model.
func (r *run) do(c *choices) {
	for r.model.ends(time.Now()) {
		time.Sleep(time.Millisecond)
	}
	r.model.expire(time.Now())
	r.before = r.model.String()
	s := r.seats[c.next(len(r.seats))]
	switch c.next(10) {
	case 0, 1, 2:
		r.obtain(s, c)
	case 3:
		r.refresh(s, choose(c, time.Second, 200*time.Millisecond, 20*time.Second))
	case 4:
		r.release(s)
	case 5:
		r.releaseKeys(s, c)
	case 6:
		r.convert(s, choose(c, read, write))
	case 7:
		r.leave(s, choose(c, 700*time.Millisecond, 5*time.Second))
	case 8:
		r.breaks(c.set())
	case 9:
		r.sleep(choose(c, 150*time.Millisecond, 700*time.Millisecond, 3*time.Second, 20*time.Second))
	}
	r.compare()
}

func (r *run) say(format string, args ...any) { r.said = append(r.said, fmt.Sprintf(format, args...)) }

func (r *run) wrong(format string, args ...any) {
	r.t.Helper()
	r.t.Fatalf("%s\nbefore the last step it said:\n%s\nafter:\n  %s", fmt.Sprintf(format, args...), r.before, strings.Join(r.said, "\n  "))
}

func (r *run) obtain(s *seat, c *choices) {
	set, ttl := c.set(), choose(c, time.Second, 200*time.Millisecond, 10*time.Second)
	r.n++
	owner := fmt.Sprintf("lock%d", r.n)
	opt := &redislock.Options{Metadata: owner, HoldAtLeast: choose(c, 0, 500*time.Millisecond)}
	r.say("%s: obtain %v for %v, at least %v", owner, set, ttl, opt.HoldAtLeast)
	now := time.Now()
	lock, err := r.w.Client.ObtainMixed(r.t.Context(), of(set, write), of(set, read), ttl, opt)
	if way := r.model.inTheWay(owner, set); len(way) > 0 {
		var conflict *redislock.ConflictError
		if !errors.As(err, &conflict) || !slices.Contains(way, conflict.Key) {
			r.wrong("got %v, want a conflict at one of %q", err, way)
		}
		return
	}
	if err != nil {
		r.wrong("got %v, want the lock", err)
	}
	r.model.grant(owner, set, now.Add(ttl))
	*s = seat{lock: lock, owner: owner, set: set, ttl: ttl}
	if opt.HoldAtLeast > 0 {
		s.least = now.Add(opt.HoldAtLeast)
	}
}

// isOver wants err to say that the lock is not held any more, if that is so.
func (r *run) isOver(s *seat, err error, missing []string) bool {
	r.t.Helper()
	if !s.over && !s.lost && len(missing) == 0 {
		return false
	}
	if !errors.Is(err, redislock.ErrLockNotHeld) {
		r.wrong("got %v, want ErrLockNotHeld; not held: %q", err, missing)
	}
	return true
}

func (r *run) refresh(s *seat, ttl time.Duration) {
	if s.lock == nil {
		return
	}
	r.say("%s: refresh to %v", s.owner, ttl)
	now := time.Now()
	err := s.lock.Refresh(r.t.Context(), ttl)
	if r.isOver(s, err, r.model.lacks(s.owner, s.set)) {
		s.lost = true
		return
	}
	if err != nil {
		r.wrong("got %v, want a new lease", err)
	}
	s.ttl = ttl
	r.renew(s, s.set, now.Add(ttl))
}

// renew begins a new lease of a set in its modes.
func (r *run) renew(s *seat, set map[string]mode, end time.Time) {
	s.set = set
	for key, mode := range set {
		r.model.put(key, s.owner, hold{mode: mode, end: end})
	}
}

func (r *run) release(s *seat) {
	if s.lock == nil {
		return
	}
	r.say("%s: release", s.owner)
	now := time.Now()
	err := s.lock.Release(r.t.Context())
	r.ended(s, s.set, now, s.least, err)
	s.over = true
}

// ended frees a set, or leaves it until a certain time, and wants err to be right.
func (r *run) ended(s *seat, set map[string]mode, now, until time.Time, err error) {
	r.t.Helper()
	over, missing := s.over, r.missing(s.owner, set)
	switch {
	case over || s.lost || len(missing) > 0:
		if !errors.Is(err, redislock.ErrLockNotHeld) {
			r.wrong("got %v, want ErrLockNotHeld; not held: %q", err, missing)
		}
	case err != nil:
		r.wrong("got %v, want no error", err)
	}
	if over {
		return
	}
	for key := range set {
		h, ok := r.model[key][s.owner]
		if !ok {
			continue
		}
		delete(r.model[key], s.owner)
		if until.After(now) {
			r.n++
			r.model.put(key, fmt.Sprintf("%s/%d", s.owner, r.n), hold{mode: h.mode, end: until, left: true})
		}
	}
}

// missing returns the keys of a set that owner does not hold at all.
func (r *run) missing(owner string, set map[string]mode) (keys []string) {
	for key := range set {
		if _, ok := r.model[key][owner]; !ok {
			keys = append(keys, key)
		}
	}
	return keys
}

func (r *run) releaseKeys(s *seat, c *choices) {
	if s.lock == nil {
		return
	}
	all := slices.Sorted(maps.Keys(s.set))
	key := all[c.next(len(all))]
	if len(all) == 1 {
		r.release(s)
		return
	}
	r.say("%s: release %s alone", s.owner, key)
	now := time.Now()
	err := s.lock.ReleaseKeys(r.t.Context(), []string{key})
	if s.lost { // then nothing is done
		r.isOver(s, err, nil)
		return
	}
	part := map[string]mode{key: s.set[key]}
	r.ended(s, part, now, s.least, err)
	if !s.over {
		s.set = maps.Clone(s.set)
		delete(s.set, key)
	}
}

func (r *run) convert(s *seat, to mode) {
	if s.lock == nil {
		return
	}
	r.say("%s: all to %s", s.owner, to)
	now := time.Now()
	set := map[string]mode{}
	for key := range s.set {
		set[key] = to
	}
	var err error
	if to == read {
		err = s.lock.Downgrade(r.t.Context())
	} else {
		err = s.lock.Upgrade(r.t.Context())
	}
	if r.isOver(s, err, r.model.lacks(s.owner, s.set)) {
		s.lost = true
		return
	}
	if way := r.model.inTheWay(s.owner, set); to == write && len(way) > 0 {
		check.Is(r.t, err, redislock.ErrNotObtained)
		return
	}
	if err != nil {
		r.wrong("got %v, want %s keys", err, to)
	}
	r.renew(s, set, now.Add(s.ttl))
}

func (r *run) leave(s *seat, ttl time.Duration) {
	if s.lock == nil {
		return
	}
	r.say("%s: leave for %v", s.owner, ttl)
	now := time.Now()
	err := s.lock.Leave(r.t.Context(), ttl)
	until := now.Add(ttl)
	if s.least.After(until) {
		until = s.least
	}
	r.ended(s, s.set, now, until, err)
	s.over = true
}

func (r *run) breaks(set map[string]mode) {
	names := slices.Sorted(maps.Keys(set))
	r.say("break %q", names)
	if _, err := r.w.Client.Break(r.t.Context(), names, "test"); err != nil {
		r.wrong("got %v, want the keys broken", err)
	}
	for _, key := range names {
		delete(r.model, key)
	}
}

func (r *run) sleep(d time.Duration) {
	r.say("%v pass", d)
	time.Sleep(d)
	for r.model.ends(time.Now()) {
		time.Sleep(time.Millisecond)
	}
	r.model.expire(time.Now())
}

// compare wants Redis to hold what the model says.
func (r *run) compare() {
	states, err := r.w.Client.Inspect(r.t.Context(), keys)
	if err != nil {
		r.wrong("inspect: %v", err)
	}
	var lines []string
	for _, s := range states {
		for _, h := range s.Holders {
			owner := h.Metadata
			lines = append(lines, line(s.Key, mode(s.Mode), owner, h.Left, time.Now().Add(h.TTL)))
		}
	}
	slices.Sort(lines)
	if got, want := strings.Join(lines, "\n"), r.model.String(); got != want {
		r.wrong("Redis has:\n%s\nthe model says:\n%s", got, want)
	}
}

// operate does what bytes say.
func operate(t *testing.T, bytes []byte) {
	t.Helper()
	world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
		r := &run{t: t, w: w, model: model{}, seats: []*seat{{}, {}, {}}}
		c := &choices{bytes[:min(len(bytes), 300)]}
		for len(c.bytes) > 0 {
			r.do(c)
		}
	})
}

// Whatever is done in which order, Redis holds what the documentation says, and each operation answers accordingly.
func FuzzOperations(f *testing.F) {
	f.Fuzz(operate)
}

// The same with bytes of which none means anything.
func TestOperations(t *testing.T) {
	t.Parallel()
	for i := range 30 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			rng := rand.NewChaCha8([32]byte{byte(i)})
			bytes := make([]byte, 300)
			_, _ = rng.Read(bytes)
			operate(t, bytes)
		})
	}
}
