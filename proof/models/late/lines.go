package late

// lines is a waiter that stands in the lines of both keys while another token holds one of them or both. It
// asks once more, receives the message that it was granted or does not, or gives up; a waiter of another token may come into
// the line of B, before it or after it. At most three tries stay without an answer, two with that one.
func lines() group {
	const n = 3
	wait := []step{do(0, queue, ab, 2), do(0, refresh, ab, 2), do(0, release, ab)}
	part := []step{do(0, queue, ab, 2), do(0, release, a), do(0, release, b)}
	single := []step{do(0, obtain, b, 1), do(0, release, b), do(1, obtain, b, 2), do(1, release, b)}
	g := group{
		name:   "lines",
		proves: "nobody stands in line after its call has ended, however late its requests are executed",
		models: []model{
			program("first is held", n, wait),
			program("second is held", n, part),
			program("both are held", n, wait),
			program("another waits, too", n-1, wait),
			program("then the next hold", n-1, []step{
				do(0, queue, ab, 2), do(1, obtain, b, 2), do(0, release, ab), do(1, release, b),
			}),
			program("others wait for the token", n-1, single),
			program("beside another hold", n-1, []step{do(0, queue, ab, 2), do(0, release, ab)},
				[]step{do(1, obtain, b, 2), do(1, release, b)}),
		},
		breaches: []breach{noGuard, unaskedEntry, unaskedRelease, leavesFirst, noSpare},
	}
	held := [][keys]mode{{writes, free}, {free, writes}, {writes, writes}, {writes, free}, {writes, free}, {free, free}, {writes, free}}
	for i := range g.models {
		m := &g.models[i]
		m.other, m.asks, m.waiterLease = held[i], 1, 2
		if i == 3 || i == 5 {
			m.anotherWants, m.turns = b, 1
		}
	}
	return g
}
