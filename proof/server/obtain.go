package server

import "slices"

// obtain takes a set of write and read locks, or none of them; or stands in line for it. It comes in this order: the guards;
// whether the server has been up for long enough; who is in the way; then what follows from that.
func (r *run) obtain(o Obtaining) answer {
	r.set, r.fenced, r.searches = o.Set, o.Can.Fenced, o.Can.Search
	hasLine := o.Can.Close || r.hasLine()
	if hasLine {
		if r.isOvertaken(o.Stamp) {
			return answer{code: Overtaken}
		}
		r.close(o.Stamp)
	}
	if o.Uptime > 0 {
		// Seconds are rounded down on both ends of the time.
		if left := o.Uptime - 1000*(r.Up-1); left > 0 {
			if o.Declares {
				r.withdraw(o)
			}
			return answer{code: Refused, refusals: []Refusal{{1, Restarted, left, ""}}}
		}
	}
	place := r.placeOf(o)
	at, fronts := place, []front(nil)
	if o.Line != nil && !place.known {
		at.known = true
		at.place, fronts = r.placeFor(o)
	}
	refusals, has := r.inTheWay(o, at, hasLine)
	if len(refusals) > 0 && o.Line != nil {
		return r.stand(o, place, at.place, fronts, refusals)
	}
	if len(refusals) > 0 {
		if o.Declares {
			r.declare(o, refusals[0])
		}
		r.handOverIfDropped()
		return answer{code: Refused, refusals: refusals, more: r.more}
	}
	return r.take(o, place, has, hasLine, slices.Contains(fronts, behind))
}

// handOverIfDropped hands over if somebody was dropped: whoever stood behind may be next.
func (r *run) handOverIfDropped() {
	if r.dropped {
		r.handOver(nil)
	}
}

// placeOf is where a waiter stands that asks again.
func (r *run) placeOf(o Obtaining) (place spotInLine) {
	switch {
	case o.Line == nil || !o.Line.Place.IsPossible():
		return place
	case o.Line.Place.IsKnown():
		return spotInLine{float64(o.Line.Place.Number()), true}
	}
	for i := range r.set {
		if e, ok := r.entryAt(i, o.Line.ID, place); ok && e.ID != "" {
			return spotInLine{e.Place, true}
		}
	}
	return place
}

// inTheWay finds what is in the way: the first, or all if the refusal is to name all. It returns, too, what the token has of each
// key that was looked at. Whoever holds a key already waits for nobody.
func (r *run) inTheWay(o Obtaining, place spotInLine, hasLine bool) (refusals []Refusal, has []standing) {
	for i := range r.set {
		mode := Read
		if i < o.Writes {
			mode = Write
		}
		s := r.look(i, mode, o.Value)
		has = append(has, s)
		refused := s.refused
		if refused == nil && !s.holds {
			if hasLine {
				if e := r.waiterBefore(i, mode, o.Value.Token(), place); e != nil {
					refused = r.by(i, e)
				}
			}
			if refused == nil && mode == Read {
				refused = r.intentOf(o, i)
			}
		}
		if refused == nil {
			continue
		}
		if refusals = append(refusals, *refused); !r.NamesAll {
			break
		}
	}
	return refusals, has
}

// intentOf is the refusal of a new reader because of a writer that has declared its intent. One that declares some itself, or
// stands in line, which keeps writers out, is not refused: two such sets could keep each other out for ever.
func (r *run) intentOf(o Obtaining, i int) *Refusal {
	key := r.set[i].Intent
	v, ok := r.value(key)
	if !ok || o.Declares || o.Line != nil || v.Token() == o.Value.Token() {
		return nil
	}
	return &Refusal{i + 1, Intent, r.left(key, r.now), v.Metadata()}
}

// declare has a refused writer declare its intents, or withdraw them if it will not ask again. They last as long as it was
// asked for, or, where that is less, a little longer than the lease in its way: then it asks again.
func (r *run) declare(o Obtaining, refused Refusal) {
	const longer = 2000 // ms
	if o.Intent == 0 {
		r.withdraw(o)
		return
	}
	ttl := o.Intent
	if refused.Left >= 0 {
		ttl = min(ttl, refused.Left+longer)
	}
	for _, s := range r.set[:o.Writes] {
		r.Space.set(s.Intent, string(o.Value), r.now+ttl)
	}
}

// withdraw deletes the intents that are the token's own.
func (r *run) withdraw(o Obtaining) {
	for _, s := range r.set[:o.Writes] {
		if intent := r.of(String, s.Intent); intent != nil && Value(intent.Text).Token() == o.Value.Token() {
			delete(r.Space, s.Intent)
		}
	}
}

// stand has a waiter stand in line. The first of a line is told when the lease before it is over. Whoever enters behind
// others has just subscribed, so nobody asks whether it hears its channel. A waiter without a place comes to stand at `at`.
func (r *run) stand(o Obtaining, place spotInLine, at float64, fronts []front, refusals []Refusal) answer {
	if !place.known && r.dropped {
		at, fronts = r.placeFor(o)
	}
	s, first := stands{micros: r.Micros, askIn: -1, heard: true, place: at}, refusals[0]
	if !r.standsWell(o, place) {
		if place.known {
			r.leave(o, place)
		}
		r.enter(o, at, fronts)
		clear(r.fronts)
		clear(r.heads)
	}
	if o.Line.Place.IsPossible() || !fronts[0].isWaited() {
		s.heard = r.publish(o.Line.Sharded, o.Line.Channel, "") > 0
	}
	if first.Mode != Queue && (fronts == nil || !fronts[first.Index-1].isWaited()) {
		if line := r.line(first.Index - 1); len(line) > 0 && line[0].isOf(o.Line.ID) {
			s.askIn = first.Left
		}
	}
	r.handOverIfDropped()
	return answer{code: InLine, refusals: refusals, stands: &s, more: r.more}
}

// take takes every key, and gives the hold its number. What the token has already, in either mode, it keeps: the lease if that
// is longer, and the number if it has one for all of the set. Those whom it passes are told of the lease. Then whoever can have what has become free gets it.
func (r *run) take(o Obtaining, place spotInLine, has []standing, hasLine, passes bool) answer {
	a := answer{code: Done, fenced: o.Can.Fenced}
	after := int64(0)
	if o.Can.Fenced {
		var err error
		if after, err = r.after(r.all(), r.Micros); err != nil {
			r.handOverIfDropped()
			panic(err)
		}
	}
	g := giving{where: r.all(), reads: map[int]bool{}, shared: map[int]bool{}, token: o.Value.Token(), ttl: o.TTL}
	kinds, same, freer := make([]Kind, len(has)), true, passes
	for i, s := range has {
		key, lease := r.set[i].Key, s.longer(o.TTL)
		kinds[i] = s.kind
		same = same && s.holds && (s.kind == String || i >= o.Writes)
		g.reads[i], g.shared[i] = i >= o.Writes, i >= o.Writes && s.kind == Sorted
		note(&r.heldFor, i, lease)
		switch {
		case i < o.Writes:
			r.hold(key, o.Value, lease)
			note(&r.written, i, o.Value.Token())
		case s.kind == String && o.Can.Keep:
			r.hold(key, o.Value, lease)
		default:
			if s.kind == String {
				freer = true // for the readers who wait
				delete(r.Space, key)
			} else if s.holds && s.value != o.Value {
				r.remove(key, func(m Member) bool { return m.Text == string(s.value) })
			}
			r.join(r.set[i], o.Value, r.now+lease)
		}
	}
	if o.Can.Fenced {
		var kept bool
		if o.Can.Block {
			after += block
		} else if same {
			a.number, kept = r.numberOfHold(kinds, o.Writes, o.Value.Token(), o.TTL)
		}
		if !kept {
			a.number = r.give(g, after)
		}
	}
	if o.Declares {
		r.withdraw(o)
	}
	if place.known {
		r.leave(o, place)
	}
	if hasLine && (place.known || freer) {
		for i := range r.set {
			r.tells(i)
		}
	}
	if hasLine && (place.known || freer || r.dropped) {
		r.handOver(nil)
	}
	a.more = r.more
	return a
}
