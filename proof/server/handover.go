package server

import "fmt"

// A handing is what a run knows because it has handed keys over.
type handing struct {
	written   map[int]string   // the tokens that write keys now because the run says so
	heldFor   map[int]int64    // for how long keys are held at least, ms
	numbered  map[int]bool     // keys for which a waiter was given a fencing number
	woken     map[string]bool  // ids of those who were told to ask
	waits     map[string]bool  // ids of those who go on waiting, until somebody is dropped
	toldHeads map[string]int64 // by id, after how many ms the lease is over of which a waiter was told
}

func note[K comparable, V any](m *map[K]V, k K, v V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[k] = v
}

// handOver hands over whatever of the set can be had now, as far as it is not `same` as before. A script that has dropped
// somebody does this as well: whoever stood behind may be next. A key that the run has just given to a writer is free for
// nobody: another waiter with the same token is told by its Client.
func (r *run) handOver(same map[int]bool) {
	r.searches = false // a waiter that may read under other metadata asks by itself
	for again := true; again; again = r.dropped {
		r.dropped, r.waits = false, nil
		for i := range r.set {
			if r.more {
				break
			}
			if _, isWritten := r.written[i]; !isWritten && !same[i] {
				r.serve(i)
			}
		}
		same = nil
		if !r.dropped {
			r.tellHeads()
		}
	}
}

// An outcome is what becomes of a waiter that is met.
type outcome int

const (
	granted outcome = iota
	blocked         // the key itself is held: for those behind, too
	waits           // for another key, or until it asks
	isDropped
	staysDead // too many were dropped
)

// serve lets those at the front of a line have the key, as far as they can: one writer, or the readers before the first writer.
func (r *run) serve(i int) {
	readersOnly := false
	r.walk(i, func(e Entry, behind *Entry) visit {
		if readersOnly && e.Mode == Write {
			return visit{enough: true}
		}
		switch r.admit(e, i, behind) {
		case granted:
			return visit{enough: e.Mode == Write, removed: true}
		case waits:
			readersOnly = true
			return visit{enough: e.Mode == Write}
		case isDropped:
			r.dropped = r.dropped || e.Keys > 1
			return visit{removed: true}
		}
		return visit{enough: true}
	})
}

// admit lets a waiter met in the line of the i-th key have its keys, or ask for them if they are not all in the set, as soon
// as nothing is in its way here.
func (r *run) admit(e Entry, i int, behind *Entry) outcome {
	if r.waits[e.ID] {
		return waits
	}
	w, whole := r.wishOf(e, i)
	if !whole {
		w = wish{[]int{i}, map[int]Mode{i: e.Mode}}
	}
	ready := whole && (r.fenced || !e.Fenced)
	for _, j := range w.where {
		s := r.look(j, w.modes[j], e.Value)
		if s.refused != nil || j != i && r.waiterBefore(j, w.modes[j], e.Value.Token(), at(e.Place)) != nil {
			r.goesOn(e, whole)
			if s.refused != nil && j == i {
				return blocked
			}
			return waits
		}
		ready = ready && !s.holds // who holds a part already is left to do it itself
	}
	// Whether anybody hears it has to be known beforehand: nobody is to hear of a grant that is taken back.
	heard := 1
	if !r.woken[e.ID] {
		text := ""
		if !ready {
			text = "w|" + e.name()
		}
		heard = r.tell(e, text)
	}
	if ready && heard > 0 {
		number, err := int64(0), error(nil)
		if e.Fenced {
			number, err = r.after(w.where, r.Micros)
		}
		if err == nil {
			r.grant(e, i, w, behind, number)
			return granted
		}
		ready = false
		r.tell(e, "w|"+e.name()) // when it asks, the reply says why there is no number
	}
	if heard > 0 {
		note(&r.woken, e.ID, !ready)
		r.goesOn(e, whole)
		return waits
	}
	entries := 1
	if whole {
		entries = len(w.where)
	}
	if !r.mayDrop(entries) {
		return staysDead
	}
	for _, j := range w.where {
		r.takeOut(j, e)
		r.tells(j)
	}
	return isDropped
}

// goesOn notes that a waiter goes on waiting. It is met again in the line of each of its keys.
func (r *run) goesOn(e Entry, whole bool) {
	if whole {
		note(&r.waits, e.ID, true)
	}
}

// grant gives a waiter, met in the line of the i-th key, its locks, and tells it.
func (r *run) grant(e Entry, i int, w wish, behind *Entry, number int64) {
	for _, j := range w.where {
		r.takeOut(j, e)
	}
	g := giving{where: w.where, reads: map[int]bool{}, shared: map[int]bool{}, token: e.Value.Token(), ttl: e.TTL}
	for _, j := range w.where {
		s := r.set[j]
		if w.modes[j] == Write {
			r.hold(s.Key, e.Value, e.TTL)
			note(&r.written, j, e.Value.Token())
		} else {
			g.reads[j], g.shared[j] = true, r.exists(s.Key)
			r.join(s, e.Value, r.now+e.TTL)
		}
		note(&r.heldFor, j, max(e.TTL, r.heldFor[j]))
		r.tells(j)
	}
	if e.Fenced {
		r.give(g, number)
		for _, j := range w.where {
			note(&r.numbered, j, true)
		}
	}
	rest := ""
	if e.Keys == 1 && e.Mode == Write {
		var told bool
		if rest, told = r.tellNext(e, behind); told {
			delete(r.tellFirst, i)
		}
	}
	r.tell(e, fmt.Sprintf("g|%s|%d|%d%s", e.ID, r.Micros, number, rest))
}

// tellNext tells the next in line when the lease is over that has just begun: as a part of the message to the one whose
// lease it is, if that goes to the same channel, else by itself. It reports false if it is not known who that is.
func (r *run) tellNext(e Entry, behind *Entry) (rest string, told bool) {
	switch {
	case e.TTL >= asksAgain:
		return "", true
	case behind == nil || behind.Till <= r.now:
		return "", false
	}
	text := fmt.Sprintf("%s|%d", behind.name(), e.TTL)
	if behind.Channel == e.Channel {
		return "|" + text, true
	}
	r.tell(*behind, "h|"+text)
	return "", true
}

// tellHeads tells the first of each line that needs it when to ask again: when the lease before it is over. If that is not
// enough some of those behind are told as well.
func (r *run) tellHeads() {
	for i, s := range r.set {
		if !r.tellFirst[i] {
			continue
		}
		e, ok := r.first(i)
		left, known := r.heldFor[i]
		if !known {
			left = r.left(s.Key, r.now)
		}
		if !ok || left < 0 || left >= asksAgain || e.Till > r.now && r.tellLease(e, left) {
			continue
		}
		rest := mostTold
		r.walk(i, func(e Entry, _ *Entry) visit {
			rest--
			return visit{enough: rest < 0 || r.tellLease(e, left)}
		})
	}
}

// tellLease tells a waiter that the lease before it is over in so many ms, if it was not told so, and reports whether that
// is enough: nobody else has to ask then. It is not if the waiter is gone, or reads the key and waits for others as well.
func (r *run) tellLease(e Entry, left int64) bool {
	if before, ok := r.toldHeads[e.ID]; !ok || before != left {
		if r.tell(e, fmt.Sprintf("h|%s|%d", e.name(), left)) == 0 {
			return false
		}
		note(&r.toldHeads, e.ID, left)
	}
	return e.Mode == Write || e.Keys == 1
}
