package server

import (
	"slices"

	"github.com/seed-14de3678/redislock/internal/proto/decode"
)

// release frees every key of a set that is still the token's, and hands it over to those who wait. Or it leaves the keys
// taken by nobody for some time more. It does its work also if the guards cannot be set: else the keys would stay locked.
func (r *run) release(q Releasing) answer {
	r.set, r.fenced, r.searches = q.Set, q.Can.Fenced, q.Can.Search
	r.caller, r.hasCaller = q.Caller, q.HasCaller
	a := answer{code: Done}
	if q.Next != nil && r.goesFirst(q) {
		if a, given := r.pass(q); given {
			return a
		}
	}
	hasLine := q.Can.Close || r.hasLine()
	if hasLine {
		if r.isOvertaken(q.Stamp) {
			return answer{code: Overtaken}
		}
		a.open = !r.tryClose(q.Stamp)
	}
	wrote := make([]bool, len(r.set))
	for i := range r.set {
		var held bool
		held, wrote[i] = r.letGo(q, i, hasLine)
		if !held {
			a.code = NotYours
			a.indexes = append(a.indexes, i+1)
		}
	}
	if hasLine {
		r.handOver(r.giveUp(q, len(a.indexes) == len(r.set)))
	}
	if q.Can.Fenced && len(q.Spared) == 0 {
		for i, s := range r.set {
			if !r.numbered[i] {
				r.forgetNumber(s.Fence, q.Value.Token(), wrote[i])
			}
		}
	}
	a.told, a.more = r.told, r.more
	return a
}

// goesFirst reports whether the next owner may have the set: all of it is as it was taken, it has come before everybody who
// stands in line, and no guard is against it or against the request.
func (r *run) goesFirst(q Releasing) bool {
	if q.Can.Close || q.Left > 0 {
		return false
	}
	arrived := float64(r.Micros - q.Next.Age.Microseconds())
	for _, s := range r.set {
		if text, ok := r.text(s.Key); !ok || Value(text) != q.Value {
			return false
		}
		if !r.exists(s.Line) {
			continue
		}
		line := r.members(s.Line)
		if len(line) == 0 || line[0].Score <= arrived {
			return false
		}
		if line[0].Score > float64(r.Micros) && !line[0].IsGuard() {
			return false // it came before the clock was set back
		}
	}
	owner := q.Value.Token()
	if q.Stamp.Is {
		owner = q.Stamp.Owner
	}
	_, mine := r.score(r.set[0].Line, owner)
	_, its := r.score(r.set[0].Line, Value(*q.Next.Value).Token())
	return !mine && !its
}

// pass gives the set to the next owner, unless no number is possible. Those who wait are told when its lease is over.
func (r *run) pass(q Releasing) (a answer, given bool) {
	after, v, ttl := int64(0), Value(*q.Next.Value), q.Next.TTL.Milliseconds()
	if q.Can.Fenced {
		var err error
		if after, err = r.after(r.all(), r.Micros); err != nil {
			return a, false
		}
		if q.Next.Block {
			after += block
		}
	}
	hasLine := r.hasLine()
	for i, s := range r.set {
		r.hold(s.Key, v, ttl)
		note(&r.written, i, v.Token())
		note(&r.heldFor, i, ttl)
		r.tells(i)
	}
	a = answer{code: Given, fenced: q.Can.Fenced}
	if a.fenced {
		a.number = r.give(giving{where: r.all(), token: v.Token(), ttl: ttl}, after)
	}
	if hasLine && ttl < asksAgain {
		r.handOver(nil)
	}
	a.told, a.more = r.told, r.more
	return a, true
}

// tryClose sets the guards of a stamp, and reports whether that was possible.
func (r *run) tryClose(s decode.Stamp) (ok bool) {
	defer func() {
		if failed := recover(); failed != nil {
			ok = false
			if _, is := failed.(Failure); !is {
				panic(failed)
			}
		}
	}()
	r.close(s)
	return true
}

// letGo frees the i-th key, or leaves it, if it is the token's and not to be spared. It reports whether it did, and whether
// the token has written the key.
func (r *run) letGo(q Releasing, i int, hasLine bool) (held, wrote bool) {
	key := r.set[i].Key
	if slices.Contains(q.Spared, i) {
		return false, false
	}
	v, isWritten := r.value(key)
	how := alone
	if !isWritten {
		how, v = r.endLease(key, q.Value)
	} else if v.Token() != q.Value.Token() {
		how = notRead
	}
	if how == notRead {
		return false, false
	}
	if hasLine && (!isWritten || q.Left > 0) {
		r.tells(i) // the last lease may end sooner now
	}
	switch {
	case q.Left > 0:
		r.leaveTaken(q, i, v, how, isWritten)
	case how == alone:
		delete(r.Space, key)
	}
	return true, isWritten
}

// leaveTaken leaves the i-th key taken by nobody, in the mode in which it was held. Where others read the key, what they
// hold does not end sooner.
func (r *run) leaveTaken(q Releasing, i int, v Value, how ending, isWritten bool) {
	key, end := r.set[i].Key, r.now+q.Left
	if isWritten {
		r.Space.set(key, string(v.Left()), end)
		note(&r.written, i, "")
		note(&r.heldFor, i, q.Left)
		return
	}
	if how == alone {
		delete(r.Space, key)
	} else if till, ok := r.score(key, string(v.Left())); ok {
		end = max(end, int64(till))
	}
	r.join(r.set[i], v.Left(), end)
}

// giveUp takes a waiter that gives up out of its lines. It returns the keys that are the same for all others: nobody but a
// writer can have waited for a reader. Of a key that is free it may have been the one that was told when to ask.
func (r *run) giveUp(q Releasing, allLost bool) map[int]bool {
	same := map[int]bool{}
	if q.ID == "" {
		return same
	}
	where := spotInLine{float64(q.Place.Number()), q.Place.IsKnown()}
	for i := range r.set {
		mode := r.leaveLine(i, q.ID, where)
		if mode != "" {
			r.tells(i)
		}
		if e, ok := r.first(i); ok && mode == Read && allLost && r.exists(r.set[i].Key) {
			same[i] = e.Mode == Read
		}
	}
	return same
}
