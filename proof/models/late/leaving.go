package late

// leaving is a Release that leaves its keys taken, by nobody, until their time is over, which may be at any moment.
// Another hold is obtained then, and a waiter comes; a key that is read is left as such. At most three tries stay without
// an answer in two of the programs, two in the others.
func leaving() group {
	const n = 3
	leave := func(hold int8, keys set) step { return do(hold, release, keys).leaving() }
	next := []step{do(1, obtain, b, 2), do(1, refresh, b, 2), do(1, release, b)}
	hold := func(steps ...step) []step { return append(append([]step{do(0, obtain, ab, 1)}, steps...), next...) }
	g := group{
		name:   "leaving",
		proves: "keys that a Release has left stay taken until their time is over, and late requests change nothing of that",
		models: []model{
			program("next hold", n, hold(do(0, refresh, ab, 1), leave(0, ab))),
			program("one key after the other", n-1, hold(leave(0, a), leave(0, b))),
			program("one key is left", n-1, hold(do(0, release, a), leave(0, b))),
			program("read", n-1, append([]step{do(0, obtain, ab, 1).reading(b), leave(0, ab)}, next...)),
			program("convert", n-1, hold(do(0, downgrade, ab, 1), leave(0, ab))),
			program("upgrade", n-1, []step{
				do(0, obtain, ab, 1).reading(b), leave(0, ab), do(1, obtain, b, 2).reading(b), do(1, upgrade, b, 2), do(1, release, b),
			}),
			program("both holds", n, []step{
				do(0, obtain, ab, 2), do(1, obtain, b, 2), leave(0, ab), do(1, refresh, b, 2), do(1, release, b),
			}),
			program("together", n-1, []step{do(0, obtain, ab, 1), leave(0, ab)}, []step{do(1, obtain, b, 2), leave(1, b)}),
			program("stand in line", n-1, []step{do(0, queue, ab, 2), leave(0, ab), do(1, queue, ab, 2), do(1, release, ab)}),
		},
		breaches: []breach{noGuard, unaskedLeave, unclosedLeave, takesBack, noSpare, freesUncounted},
	}
	for i := range g.models {
		m := &g.models[i]
		switch m.program {
		case "stand in line":
			m.other, m.asks, m.waiterLease = [keys]mode{writes, free}, 1, 2
		case "upgrade":
			m.readers, m.turns = b, 1
		}
	}
	return g
}
