package check_test

import (
	"maps"
	"slices"
	"time"

	"github.com/seed-14de3678/redislock/proof/random"
)

// A server has the keys.
type server struct {
	s    *simulation
	keys map[string]*skey
	line []*waiter        // in the order of their places
	seen map[string]int64 // by resource: the greatest number that it has taken
}

// An skey is a key of the server.
type skey struct {
	leases map[string]*lease // by token
	number int64             // the last one that was given
}

type lease struct {
	until time.Duration
	write bool
	left  bool
}

// A waiter stands in line.
type waiter struct {
	want
	owner   *process
	granted func(number int64)
	out     bool
	late    time.Duration // it is passed over until then
}

// A want is what somebody wants to have.
type want struct {
	write, read []string
	token       string
	ttl         time.Duration
	fenced      bool
}

func (w want) keys() []string { return slices.Concat(w.write, w.read) }

func (v *server) key(name string) *skey {
	k := v.keys[name]
	if k == nil {
		k = &skey{leases: map[string]*lease{}}
		v.keys[name] = k
	}
	maps.DeleteFunc(k.leases, func(_ string, l *lease) bool { return l.until <= v.s.now })
	return k
}

// inTheWay says what keeps a token from having a key: how it is held, or "queue"; "" if nothing does.
func (v *server) inTheWay(name string, write bool, token string, before *waiter) string {
	leases := v.key(name).leases
	for _, other := range slices.Sorted(maps.Keys(leases)) {
		if l := leases[other]; other != token && (write || l.write) {
			how := "read"
			if l.write {
				how = "write"
			}
			if l.left {
				how += "-left"
			}
			return how
		}
	}
	if _, mine := leases[token]; mine {
		return ""
	}
	for _, w := range v.line {
		if w == before {
			break
		}
		if !w.out && w.token != token && (slices.Contains(w.write, name) || write && slices.Contains(w.read, name)) {
			if w.owner.dead <= v.s.now {
				w.out = true
				continue
			}
			return "queue"
		}
	}
	return ""
}

// refuses says which key is in the way of a want, and how.
func (v *server) refuses(w want, before *waiter) (key, how string) {
	all := w.keys()
	for i, k := range all {
		if i > 0 && v.s.defect == overlap && random.Chance(v.s.rng, 60) {
			v.s.planted++
			continue
		}
		if how := v.inTheWay(k, i < len(w.write), w.token, before); how != "" {
			return k, how
		}
	}
	return "", ""
}

// take gives the keys.
func (v *server) take(w want) (number int64) {
	for i, name := range w.keys() {
		k := v.key(name)
		l := k.leases[w.token]
		if l == nil {
			l = &lease{}
			k.leases[w.token] = l
		}
		l.write = l.write || i < len(w.write)
		v.extend(l, max(l.until, v.s.now+w.ttl))
	}
	if w.fenced {
		return v.number(w.keys())
	}
	return 0
}

// extend gives a lease another end, at which whoever waits is served.
func (v *server) extend(l *lease, until time.Duration) {
	l.until = until
	if until < simEnd {
		v.s.at(until+random.Between(v.s.rng, time.Millisecond, 10*time.Millisecond), v.serve)
	}
}

// number gives a number for keys.
func (v *server) number(keys []string) int64 {
	number := int64(v.s.now / time.Microsecond)
	for _, k := range keys {
		number = max(number, v.key(k).number+1)
	}
	if v.s.defect == staleNumber && random.Chance(v.s.rng, 30) && v.key(keys[0]).number > 0 {
		v.s.planted++
		number = v.key(keys[0]).number
	}
	for _, k := range keys {
		v.key(k).number = number
	}
	return number
}

// has reports whether the token has all keys.
func (v *server) has(keys []string, token string) bool {
	return !slices.ContainsFunc(keys, func(k string) bool { return v.key(k).leases[token] == nil })
}

// free frees what the token has of the keys, or leaves it for a time, and reports whether it had all.
func (v *server) free(keys []string, token string, leave time.Duration) bool {
	had := v.has(keys, token)
	if v.s.defect == earlyKept && leave > 0 {
		v.s.planted++
		leave /= 3
	}
	for _, name := range keys {
		k := v.key(name)
		l := k.leases[token]
		if l == nil {
			continue
		}
		delete(k.leases, token)
		if leave > 0 {
			kept := &lease{write: l.write, left: true}
			k.leases["left "+v.s.newToken()] = kept
			v.extend(kept, v.s.now+leave)
		}
	}
	v.serve()
	return had
}

// breakKeys takes the keys from whoever has them.
func (v *server) breakKeys(keys []string) {
	for _, k := range keys {
		clear(v.key(k).leases)
	}
	v.serve()
}

// renew begins a new lease, if the token has all keys.
func (v *server) renew(keys []string, token string, ttl time.Duration, neverShorter bool) bool {
	if !v.has(keys, token) {
		return false
	}
	for _, k := range keys {
		l := v.key(k).leases[token]
		until := v.s.now + ttl
		if neverShorter {
			until = max(until, l.until)
		}
		v.extend(l, until)
	}
	return true
}

// convert makes the keys write keys or read keys. It reports what is in the way.
func (v *server) convert(keys []string, token string, ttl time.Duration, write bool) (held bool, key, how string) {
	if !v.has(keys, token) {
		return false, "", ""
	}
	for _, name := range keys {
		if k := v.key(name); write && len(k.leases) > 1 {
			if v.s.defect == upgradeBeside {
				v.s.planted++
				continue
			}
			return true, name, "read"
		}
	}
	v.renew(keys, token, ttl, false)
	for _, name := range keys {
		v.key(name).leases[token].write = write
	}
	v.serve()
	return true, "", ""
}

// enter puts a waiter at the end of the line.
func (v *server) enter(w *waiter) {
	if v.s.defect == reorder && len(v.line) > 0 && random.Chance(v.s.rng, 70) {
		v.s.planted++
		v.line = slices.Insert(v.line, 0, w)
	} else {
		v.line = append(v.line, w)
	}
	v.serve()
}

// serve grants whatever can be had.
func (v *server) serve() {
	for again := true; again; {
		again = false
		v.line = slices.DeleteFunc(v.line, func(w *waiter) bool { return w.out })
		for _, w := range slices.Clone(v.line) {
			if w.out {
				continue
			}
			if _, how := v.refuses(w.want, w); how != "" {
				continue
			}
			if v.isLate(w) {
				continue
			}
			w.out, again = true, true
			if w.owner.dead <= v.s.now {
				continue
			}
			if v.s.defect == lostWakeUp && random.Chance(v.s.rng, 10) {
				v.s.planted++
				continue
			}
			w.granted(v.take(w.want))
		}
	}
}

// isLate reports whether it is somebody's turn who is to learn of it later.
func (v *server) isLate(w *waiter) bool {
	if v.s.defect == lateTurn && w.late == 0 && random.Chance(v.s.rng, 15) {
		v.s.planted++
		w.late = v.s.now + 700*time.Millisecond
		v.s.at(w.late, v.serve)
	}
	return w.late > v.s.now
}

// resource asks a resource to take a number.
func (v *server) resource(name string, number int64) bool {
	if number < v.seen[name] {
		if v.s.defect != oldNumber {
			return false
		}
		v.s.planted++
		return true
	}
	v.seen[name] = number
	return true
}
