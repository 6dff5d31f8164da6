package server

import "github.com/seed-14de3678/redislock/internal/proto/decode"

// breakUp takes a set of keys from whoever holds them, and hands it over to those who wait. It closes its own request before:
// no other try of it is to take the keys from their next owner. Without a lock at one of the keys that is no lock it would
// destroy what is somebody else's, so then it changes nothing.
func (r *run) breakUp(q Breaking) answer {
	r.set, r.fenced = q.Set, true
	if r.isOvertaken(q.Stamp) {
		return answer{code: Overtaken}
	}
	r.close(q.Stamp)
	a := answer{code: Done}
	for i, s := range r.set {
		broken, isLock := r.owners(i)
		if !isLock {
			return answer{code: Refused, refusals: []Refusal{{i + 1, Foreign, r.left(s.Key, r.now), string(r.kind(s.Key))}}}
		}
		a.broken = append(a.broken, broken...)
	}
	hasLine := r.hasLine()
	r.setGuard(decode.Closing{Owner: q.Stamp.Owner, Number: numbers - 1, Line: q.Stamp.Home})
	for i, s := range r.set {
		if hasLine && r.exists(s.Key) {
			r.tells(i)
		}
		delete(r.Space, s.Key)
	}
	first := map[int]bool{}
	for _, b := range a.broken {
		if !b.Value.IsLeft() {
			r.forgetNumber(r.set[b.Index-1].Fence, b.Value.Token(), !first[b.Index])
			first[b.Index] = true
		}
	}
	if len(a.broken) > 0 {
		r.publish(false, q.Channel, q.Text)
	}
	if hasLine {
		r.handOver(nil)
	}
	a.more = r.more
	return a
}

// owners are those whose leases of the i-th key run; false if the key is no lock. The sorted set of readers ends with the last
// of them.
func (r *run) owners(i int) (all []Broken, isLock bool) {
	const sameEnd = 1000 // ms
	key := r.set[i].Key
	left := r.left(key, r.now)
	if left == isGone {
		return nil, true
	}
	if held, ok := r.value(key); ok {
		return []Broken{{i + 1, Write, held, left}}, left >= 0 && held.IsValid()
	}
	readers := r.members(key)
	if left < 0 || len(readers) == 0 {
		return nil, false
	}
	last := readers[len(readers)-1]
	off := last.Score - float64(r.now) - float64(left)
	if !Value(last.Text).IsValid() || off <= -sameEnd || off >= sameEnd {
		return nil, false
	}
	for _, m := range readers {
		if r.isRunning(m) {
			all = append(all, Broken{i + 1, Read, Value(m.Text), r.restOf(m)})
		}
	}
	return all, true
}
