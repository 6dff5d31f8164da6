package late

// partly is scripts that fail when they have written a part: the first guard, all guards, the first key too, or
// everything. At most two of them fail, and one try stays without an answer. An error is no answer: the requests
// that a failed one has closed still count as open.
func partly() group {
	const n = 1
	g := group{
		name:   "partly",
		proves: "late requests change nothing when scripts fail after they have written a part",
		models: []model{
			program("shrink", n, []step{
				do(0, obtain, ab, 2), do(0, refresh, ab, 1), do(0, refresh, ab, 2), do(0, release, a), do(0, release, ab),
			}),
			program("next hold", n, []step{
				do(0, obtain, ab, 1), do(0, release, ab), do(1, obtain, b, 2), do(1, refresh, b, 2), do(1, release, b),
			}),
			program("convert", n, []step{
				do(0, obtain, ab, 2), do(0, downgrade, ab, 2), do(0, upgrade, ab, 2), do(0, release, ab),
			}),
			program("stand in line", n, []step{do(0, queue, ab, 2), do(0, release, ab)}),
			program("together", n, []step{do(0, obtain, ab, 1), do(0, release, ab)}, []step{do(1, obtain, b, 2)}),
		},
		breaches: []breach{noGuard, settlesErrors, leavesErrors},
	}
	for i := range g.models {
		m := &g.models[i]
		m.errors = 2
		if m.program == "stand in line" {
			m.other, m.asks, m.waiterLease = [keys]mode{writes, free}, 1, 2
		}
	}
	return g
}
