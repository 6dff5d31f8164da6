package outlive

var texts = map[mistake]string{
	tooSoon:    "somebody got the key before its time was over",
	tooLong:    "the key was left for longer than it was to be",
	twice:      "a Break was done twice",
	afterClose: "a Break was done that was closed",
	notGreater: "a fencing number is not greater than one before",
	ignores:    "the holder was told that its lock is gone, and goes on",
}

// isWrong says what is wrong with a state.
func (m *program) isWrong(s state) string {
	k, q := s.server, s.queuer
	switch {
	case s.wrong != right:
		return texts[s.wrong]
	case k.owner == left && k.till != s.leftTill:
		return "a request of the holder has changed a key that was left"
	case s.lock.told > 1:
		return "a loss was told twice"
	case s.lock.is == held && s.now >= s.lock.deadline:
		return "the deadline has come, and nobody was told"
	case s.lock.is == held && s.broken == 0 && k.owner != holder:
		return "the holder has lost the key, although nobody broke it"
	case k.owner == nobody && q.is == stands && !q.granted && q.head == 0 && (q.timer == 0 || q.timer > s.now):
		return "the key is free, and nobody tells the waiter"
	}
	return ""
}

// end says what is wrong with a state in which nothing can happen any more.
func end(s state) string {
	switch {
	case s.lock.is == held:
		return "the holder never learns of it"
	case s.queuer.is == stands && s.queuer.timer == 0: // else the time for which all this goes on was too short
		return "the waiter waits for ever"
	}
	return ""
}
