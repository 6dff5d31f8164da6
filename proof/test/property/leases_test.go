package property_test

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
)

// String names the lock of a seat.
func (s *seat) String() string { return fmt.Sprintf("%s of %d keys", s.owner, len(s.set)) }

func of(set map[string]mode, wanted mode) (keys []string) {
	for key, mode := range set {
		if mode == wanted {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// A request is what an Obtain asks for.
type request struct {
	to  who
	set map[string]mode
	ttl time.Duration
	opt redislock.Options

	token string // empty: the lock has one of its own
}

// request chooses what the next lock of a seat is to be.
func (r *run) request(s *seat, c *choices) request {
	r.n++
	name := fmt.Sprintf("lock%d", r.n)
	q := request{set: c.set(r.bunches), ttl: r.scaled(choose(c, time.Second, 200*time.Millisecond, 10*time.Second))}
	q.token = r.tokens[s.token]
	q.opt = redislock.Options{Metadata: name, Fenced: s.token == "fenced"}
	q.opt.HoldAtLeast = choose(c, 0, 0, r.scaled(500*time.Millisecond), r.scaled(15*time.Second))
	if s.token == "" {
		q.opt.Fenced = choose(c, false, true)
		r.own[name] = true
	} else {
		q.opt.Metadata = choose(c, name, "", "same")
	}
	q.to = who{cmp.Or(s.token, name), q.opt.Metadata}
	switch waits := choose(c, "", "", "line", "intent"); {
	case len(r.model.inTheWay(q.to.owner, q.set)) > 0 && (r.mini == nil || r.model.ends(time.Now(), time.Second)):
	case waits == "line":
		q.opt.Queue = true
	case waits == "intent":
		q.opt.Intent, q.opt.RetryStrategy = true, redislock.LinearBackoff(10*time.Millisecond)
	}
	if r.mini != nil && (q.opt.Queue || q.opt.Intent) {
		q.opt.Wait = 25 * time.Millisecond // in vain, if it has to
	}
	return q
}

// obtain reports whether the seat has got the lock.
func (r *run) obtain(client *redislock.Client, s *seat, c *choices) bool {
	q := r.request(s, c)
	r.say("%s as %q: obtain to write %s, to read %s, for %v, at least %v; line %t, intent %t", q.to.owner, q.to.metadata,
		listed(of(q.set, write)), listed(of(q.set, read)), q.ttl, q.opt.HoldAtLeast, q.opt.Queue, q.opt.Intent)
	way := r.model.inTheWay(q.to.owner, q.set)
	var lock *redislock.Lock
	var err error
	obtain := client.ObtainSet
	if q.token != "" {
		obtain = client.As(q.token).ObtainSet
	}
	at := r.during(func() {
		lock, err = obtain(r.t.Context(), redislock.Set{Write: of(q.set, write), Read: of(q.set, read)}, q.ttl, &q.opt)
	})
	if len(way) > 0 {
		r.wantConflict(err, way)
		if q.opt.Wait > 0 {
			time.Sleep(100 * time.Millisecond) // its intents are withdrawn in the background
		}
		return false
	}
	if err != nil {
		r.wrong("got %v, want the lock", err)
	}
	*s = seat{token: s.token, lock: lock, owner: q.to.owner, set: q.set, ttl: q.ttl}
	r.model.grant(q.to, q.set, at.after(q.ttl), r.wantNumber(s, q.set, q.opt.Fenced))
	if q.opt.HoldAtLeast > 0 {
		s.least = at.after(q.opt.HoldAtLeast)
	}
	return true
}

func listed(keys []string) string {
	if len(keys) > 3 {
		return fmt.Sprintf("%d from %q on", len(keys), keys[0])
	}
	return fmt.Sprintf("%q", keys)
}

// wantConflict wants an Obtain to have failed because of one of the keys in its way.
func (r *run) wantConflict(err error, way []string) {
	r.t.Helper()
	var conflict *redislock.ConflictError
	if !errors.As(err, &conflict) || !slices.Contains(way, conflict.Key) {
		r.wrong("got %v, want a conflict at one of %s", err, listed(way))
	}
}

// wantNumber wants a lock to have the right number, before the model knows of what it has been given.
func (r *run) wantNumber(s *seat, set map[string]mode, fenced bool) int64 {
	r.t.Helper()
	number, kept, greatest := s.lock.Fence(), r.model.number(s.owner, set), r.model.greatest(set)
	switch {
	case !fenced && number != 0, fenced && kept != 0 && number != kept, fenced && kept == 0 && number <= greatest:
		r.wrong("the number is %d; it was %d before, and the greatest %d", number, kept, greatest)
	}
	return number
}

// A leasing is an operation that begins a new lease of a lock.
type leasing struct {
	name string
	ttl  time.Duration
	set  map[string]mode // the modes that the keys have then
	do   func() error
}

func (r *run) refreshing(s *seat, ttl time.Duration) leasing {
	return leasing{"refresh", ttl, nil, func() error { return s.lock.Refresh(r.t.Context(), ttl) }}
}

func (r *run) converting(s *seat, to mode) leasing {
	set := map[string]mode{}
	for key := range s.set {
		set[key] = to
	}
	if to == read {
		return leasing{"downgrade", s.ttl, set, func() error { return s.lock.Downgrade(r.t.Context()) }}
	}
	return leasing{"upgrade", s.ttl, set, func() error { return s.lock.Upgrade(r.t.Context()) }}
}

func (r *run) refresh(s *seat, ttl time.Duration) { r.lease(s, r.refreshing(s, ttl)) }
func (r *run) convert(s *seat, to mode)           { r.lease(s, r.converting(s, to)) }

func (r *run) lease(s *seat, l leasing) {
	r.say("%s: %s for %v", s, l.name, l.ttl)
	var err error
	at := r.during(func() { err = l.do() })
	r.leased(s, l, at, false, err)
}

// leased wants err to be right, and gives the lock its new lease.
func (r *run) leased(s *seat, l leasing, at span, keeps bool, err error) {
	r.t.Helper()
	if r.wantLost(s, err, r.model.lacks(s.owner, s.set)) {
		return
	}
	if way := r.model.inTheWay(s.owner, l.set); len(way) > 0 {
		r.wantConflict(err, way)
		return
	}
	if err != nil {
		r.wrong("got %v, want a new lease", err)
	}
	number := int64(-1)
	if l.set != nil {
		number = r.wantNumber(s, l.set, s.lock.Fence() > 0)
		s.set = l.set
	}
	s.ttl = l.ttl
	r.renew(s, l, at, keeps, number)
}

// renew gives the keys of a lock a new lease, and another number if it is not negative.
func (r *run) renew(s *seat, l leasing, at span, keeps bool, number int64) {
	for key := range s.set {
		w, h, _ := r.model.of(key, s.owner)
		end := at.after(l.ttl)
		if keeps {
			end = end.later(h.end)
		}
		h.end = end
		if l.set != nil {
			h.mode = l.set[key]
		}
		if number >= 0 {
			h.number = number
			r.model.fences[key] = max(r.model.fences[key], number)
		}
		r.model.put(key, w, h)
	}
}

// loseAnswers has r.late called in place of the answer to the next request for a new lease.
func (r *run) loseAnswers() {
	r.rdb.AddHook(check.Around{Send: func(cmds []redis.Cmder, send func([]redis.Cmder) error) error {
		late := r.late
		if late == nil || !check.Among(cmds, "refresh", "convert") {
			return send(cmds)
		}
		if r.executed {
			if err := send(cmds); redis.HasErrorPrefix(err, "NOSCRIPT") {
				return err // it was not executed: it is sent again, with its source
			}
		}
		r.late = nil
		late()
		return io.EOF
	}})
}

// answeredLate begins a new lease of a lock, and loses the answer to the first request for it. Before the next one another
// lock of the same token is obtained, which the operation is not to undo: it shortens none of its leases, and a Downgrade is
// dropped.
func (r *run) answeredLate(s *seat, c *choices) {
	l := r.refreshing(s, r.scaled(choose(c, time.Second, 200*time.Millisecond, 20*time.Second)))
	if to := choose(c, "", read, write); to != "" {
		l = r.converting(s, to)
	}
	const soon = 500 * time.Millisecond // more than it takes to ask again
	if s.token != "plain" || s.lost || s.over || s.lock.Deadline().Before(time.Now().Add(soon)) || r.mini != nil && r.model.ends(time.Now(), soon) {
		r.lease(s, l)
		return
	}
	other := r.seats[3]
	if other == s {
		other = r.seats[4]
	}
	r.executed = choose(c, false, true)
	r.say("%s: %s for %v, of which the first answer is lost; executed: %t", s, l.name, l.ttl, r.executed)
	yields := false
	r.late = func() {
		if r.executed && len(r.model.lacks(s.owner, s.set)) == 0 && len(r.model.inTheWay(s.owner, l.set)) == 0 {
			r.renew(s, l, r.during(func() {}), false, -1)
		}
		yields = r.obtain(r.other, other, c) && haveCommon(s.set, other.set)
	}
	var err error
	at := r.during(func() { err = l.do() })
	if r.late != nil {
		r.wrong("nothing was asked for")
	}
	if yields && l.name == "downgrade" {
		if err != nil {
			r.wrong("got %v, want it dropped", err)
		}
		s.set = l.set
		return
	}
	r.leased(s, l, at, yields, err)
}

func haveCommon(a, b map[string]mode) bool {
	for key := range maps.Keys(a) {
		if _, ok := b[key]; ok {
			return true
		}
	}
	return false
}
