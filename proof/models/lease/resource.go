package lease

// A resource takes writes with numbers, and refuses old ones.
type resource struct {
	newest int8 // the greatest number that it has seen
	hold   int8 // the latest hold of which it has taken a write
}

// admits reports whether a write may be taken.
func (r *resource) admits(m model, w write) bool {
	switch m.without {
	case unfenced:
		return true
	case greater:
		return w.number > r.newest
	}
	return w.number >= r.newest
}

// take takes a write, and says what is wrong with that.
func (r *resource) take(w write) wrong {
	if w.hold < r.hold {
		return staleTaken
	}
	r.newest, r.hold = max(r.newest, w.number), w.hold
	return nothing
}

// refuse says what is wrong with refusing a write.
func (r *resource) refuse(w write) wrong {
	if w.hold >= r.hold {
		return newestRefused
	}
	return nothing
}
