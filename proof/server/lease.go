package server

// lost are the keys that are not the token's, from 1.
func (r *run) lost(v Value) (lost []int) {
	for i, s := range r.set {
		if _, _, ok := r.isMine(s.Key, v); !ok {
			lost = append(lost, i+1)
		}
	}
	return lost
}

// refresh extends the leases of a set, if every key is still the token's. Who waits was told when the leases would be over
// that may end sooner now.
func (r *run) refresh(q Leasing) answer {
	r.set, r.searches = q.Set, q.Can.Search
	if q.Stamp.Is || !q.Can.Long {
		if r.isOvertaken(q.Stamp) {
			return answer{code: Overtaken}
		}
		r.close(q.Stamp)
	}
	hasLine := !q.Can.Long && r.hasLine()
	if lost := r.lost(q.Value); len(lost) > 0 {
		return answer{code: NotYours, indexes: lost}
	}
	for _, s := range r.set {
		lease := q.TTL
		m, writes, _ := r.isMine(s.Key, q.Value)
		if !writes {
			if q.Can.Long {
				lease = max(lease, r.restOf(m))
			}
			r.read(s.Key, Value(m.Text), r.now+lease)
			continue
		}
		if q.Can.Long {
			lease = max(lease, r.left(s.Key, r.now))
		}
		if held, _ := r.value(s.Key); held == q.Value+"?" { // a candidate was elected
			r.hold(s.Key, q.Value, lease)
		}
		r.ends(s.Key, r.now+lease, r.now)
	}
	if !hasLine {
		return answer{code: Done}
	}
	same := map[int]bool{}
	for i := range r.set {
		same[i] = true
		r.tells(i)
	}
	r.handOver(same)
	return answer{code: Done, more: r.more}
}

// convert turns a held set into other modes, if every key is still the token's. Every key keeps its value.
func (r *run) convert(q Leasing) answer {
	r.set, r.fenced, r.searches = q.Set, q.Can.Fenced, q.Can.Search
	if r.isOvertaken(q.Stamp) {
		return answer{code: Overtaken}
	}
	r.close(q.Stamp)
	has, a := r.whatIsHeld(q)
	if len(a.indexes)+len(a.refusals) > 0 {
		return a
	}
	after := int64(0)
	if q.Can.Fenced {
		var err error
		if after, err = r.after(r.all(), r.Micros); err != nil {
			panic(err)
		}
	}
	g := giving{where: r.all(), reads: map[int]bool{}, shared: map[int]bool{}, token: q.Value.Token(), ttl: q.TTL}
	kinds, stronger := make([]Kind, len(has)), false
	for i, s := range has {
		lease := q.TTL
		if q.Can.Long {
			lease = s.longer(q.TTL)
		}
		kinds[i] = s.kind
		if i < q.Writes {
			stronger = stronger || s.kind != String
			r.hold(r.set[i].Key, s.value, lease)
			note(&r.written, i, q.Value.Token())
			note(&r.heldFor, i, lease)
			continue
		}
		g.reads[i], g.shared[i] = true, s.kind != String
		if s.kind == String {
			delete(r.Space, r.set[i].Key)
		}
		r.join(r.set[i], s.value, r.now+lease)
	}
	if q.Can.Fenced {
		var kept bool
		if !stronger { // who writes where it only read is given a new number
			a.number, kept = r.numberOfHold(kinds, q.Writes, q.Value.Token(), q.TTL)
		}
		if !kept {
			a.number = r.give(g, after)
		}
	}
	if r.hasLine() {
		for i := range r.set {
			r.tells(i) // the lease may end sooner now
		}
		r.handOver(nil)
	}
	a.code, a.fenced, a.more = Done, q.Can.Fenced, r.more
	return a
}

// whatIsHeld is what the token has of each key; or the answer that some are not its own, or that others are in the way.
func (r *run) whatIsHeld(q Leasing) (has []standing, a answer) {
	for i, spot := range r.set {
		mode := Read
		if i < q.Writes {
			mode = Write
		}
		s := r.look(i, mode, q.Value)
		if s.refused != nil && s.kind == Sorted { // by another reader
			if m, ok := r.reader(spot.Key, q.Value); ok {
				s.value, s.holds = Value(m.Text), true
			}
		}
		if !s.holds {
			a.indexes = append(a.indexes, i+1)
		}
		if s.refused != nil && len(a.refusals) == 0 {
			a.refusals = append(a.refusals, *s.refused)
		}
		has = append(has, s)
	}
	switch {
	case len(a.indexes) > 0:
		a = answer{code: NotYours, indexes: a.indexes}
	case len(a.refusals) > 0:
		a.code = Refused
	}
	return has, a
}

// remaining tells the least lease of a set; that of a key that somebody has made persistent is not counted.
func (r *run) remaining(q Leasing) lease {
	r.set, r.searches = q.Set, q.Can.Search
	least := forEver
	for i, s := range r.set {
		m, writes, ok := r.isMine(s.Key, q.Value)
		if !ok {
			return lease{lost: i + 1}
		}
		left := r.restOf(m)
		if writes {
			left = r.left(s.Key, r.now)
		}
		if left >= 0 && (least < 0 || left < least) {
			least = max(left, 1)
		}
	}
	return lease{left: least}
}

// raise makes a number that was given elsewhere that of a hold, where its own is smaller.
func (r *run) raise(q Leasing) answer {
	r.set, r.fenced, r.searches = q.Set, true, q.Can.Search
	if q.Stamp.Is {
		if r.isOvertaken(q.Stamp) {
			return answer{code: Overtaken}
		}
		r.close(q.Stamp)
	}
	if lost := r.lost(q.Value); len(lost) > 0 {
		return answer{code: NotYours, indexes: lost}
	}
	if _, err := r.after(r.all(), 0); err != nil {
		panic(err)
	}
	token, text := q.Value.Token(), decimal(q.Number)
	for i, s := range r.set {
		if r.before[i] < float64(q.Number) {
			r.put(s.Fence, map[string]string{Greatest: text})
		}
		field, of, mine := token, "", text
		if _, isWritten := r.value(s.Key); isWritten {
			field, of, mine = writes, token, written(text, token)
		}
		has, _ := r.field(s.Fence, field)
		if own, by := numberOf(has); by != of || own < float64(q.Number) {
			r.put(s.Fence, map[string]string{field: mine})
		}
		r.ends(s.Fence, r.now+lifeOfNumbers(q.TTL), r.now)
	}
	return answer{code: Done}
}
