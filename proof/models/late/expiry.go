package late

// expiry is leases and guards that end: three ticks pass, at any time; a lease is one to three of them, a guard
// lives for two, and no request is executed later than one after it was sent. At most two tries stay without an
// answer. A clean-up that nobody answers is given up when the last late request, and its lease, must be over;
// an owner of which nothing is outstanding, and no guard can live, begins anew.
func expiry() group {
	const n = 2
	g := group{
		name:   "expiry",
		proves: "no late request does harm while leases and guards end, as a guard outlives the requests that it is against",
		models: []model{
			program("shrink", n, []step{
				do(0, obtain, ab, 3), do(0, refresh, ab, 1), do(0, refresh, ab, 3), do(0, release, a), do(0, release, ab),
			}),
			program("next hold", n, []step{
				do(0, obtain, ab, 2), do(0, release, ab), do(1, obtain, b, 3), do(1, refresh, b, 3), do(1, release, b),
			}),
			program("both holds", n, []step{do(0, obtain, ab, 2), do(0, refresh, ab, 1), do(1, obtain, b, 3), do(0, release, ab)}),
			program("short leases", n, []step{do(0, obtain, ab, 1), do(0, release, ab), do(1, obtain, b, 1)}),
			program("together", n-1, []step{do(0, obtain, ab, 2), do(0, refresh, ab, 1), do(0, release, ab)},
				[]step{do(1, obtain, b, 2)}),
		},
		breaches: []breach{noGuard, endsEarly, cutsShort, dropsLiving, forgetsSoon, endsCleaning, tooLate},
	}
	for i := range g.models {
		m := &g.models[i]
		m.ticks, m.lateness, m.guardLife, m.turns = 3, 1, 2, 1
	}
	return g
}
