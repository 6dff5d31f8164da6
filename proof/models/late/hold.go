package late

// A hold is one lock of the token, or what is left of it.
type hold struct {
	claims  set         // the keys that it counts among its own, from before its Obtain is sent
	counts  [keys]lease // what it counts on
	gone    bool        // it knows that it was lost
	inLine  bool        // its Obtain may have left a waiter in line
	left    set         // what is still to be cleaned up
	unclean bool        // no clean-up was answered yet
	taken   bool        // that may leave the keys taken, as the Release before it was to do
	until   int8        // in models with a clock: for how many ticks that is tried
}

// cleans leaves keys to the clean-up, for as long as a late request can be executed, and the lease that it brings lasts.
func (h *hold) cleans(m *model, of set) {
	h.left |= of
	switch {
	case m.ticks == 0: // for ever
	case m.broken == endsCleaning:
		h.until = m.longest()
	default:
		h.until = m.longest() + m.lateness
	}
}

// A holdSet is some of the holds.
type holdSet uint8

func (s holdSet) has(hold int) bool { return s>>hold&1 == 1 }
