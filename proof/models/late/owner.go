package late

import "slices"

// maxOpen is how many open requests an owner can have: a model with more does not fit.
const maxOpen = 8

// An entry is an open request of an owner: one of its tries was not answered, and no answered request has closed
// it.
type entry struct {
	keys   set
	home   int8 // the line where it asks
	id     int8
	number int8
	done   set // with twins: the servers by which it was closed that are not its own
}

// An owner is a token in one process: its id, the number of its requests, and those that are open.
type owner struct {
	id     int8
	number int8
	guards int8 // for how many ticks a guard of it may live
	open   [maxOpen]entry
}

// add notes a request that was not answered.
func (o *owner) add(e entry) {
	if !slices.Contains(o.open[:], e) {
		o.open[slices.Index(o.open[:], entry{})] = e
		o.sort()
	}
}

// behind returns the open requests behind which a request is sent.
func (o *owner) behind(m *model, r request) (behind []entry) {
	for _, e := range o.open {
		if m.names(e.keys)&m.names(r.keys) != 0 && !e.done.has(int(m.homeOf(r))) {
			behind = append(behind, e)
		}
	}
	return behind
}

// sort puts the open requests in an order, so that equal states are the same.
func (o *owner) sort() {
	slices.SortFunc(o.open[:], func(x, y entry) int { return y.code() - x.code() })
}

// code is a number for the order of entries; that of no entry is the smallest.
func (e entry) code() int {
	return int(e.id)<<24 | int(e.number)<<16 | int(e.home+1)<<8 | int(e.keys)<<4 | int(e.done)
}

// settle removes the open requests that an answered request has closed.
func (o *owner) settle(m *model, r request) {
	for i, e := range o.open {
		closed := e.id == r.id && e.number < r.number && r.closes.has(int(e.home)) ||
			e.id < r.id && r.former[e.id].has(int(e.home)) ||
			m.broken == settlesAll && e.number < r.number
		if m.twins && e != (entry{}) && e.home != r.home && e.number < r.number && r.closes != 0 {
			o.open[i].done |= r.closes // what is on another server is not closed there
			closed = m.broken == anyServer
		}
		if e != (entry{}) && closed {
			o.open[i] = entry{}
		}
	}
	o.sort()
}

// stamp gives a request its number, and the lines to close, for what it is sent behind.
func (o *owner) stamp(m *model, r *request, behind []entry) {
	r.home = m.homeOf(*r)
	raise := false
	for _, e := range behind {
		raise = raise || e.id == o.id && e.number >= o.number
	}
	switch {
	case !raise || m.broken == staysPut:
	case o.number < m.last-1 || m.broken == capped:
		o.number++
	default:
		o.id, o.number = o.id+1, 1
	}
	for _, e := range behind {
		switch {
		case m.twins:
			r.closes |= one(int(r.home)) // the line of that name, on its own server
		case e.id == o.id:
			r.closes |= one(int(e.home))
		case m.broken != keepsFormer:
			r.former[e.id] |= one(int(e.home))
		}
	}
	if m.broken == ownLineOnly {
		r.closes &= one(int(r.home))
	}
	r.id, r.number = o.id, o.number
	if m.broken == capped {
		r.number = min(r.number, m.last)
	}
}
