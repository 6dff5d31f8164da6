package late

// apart is two processes with one token: each has an id and a number of its own, and knows nothing of what the
// other one claims or has under way. At most two tries stay without an answer, in both together.
//
// A process may count on this: its own late requests do nothing, whoever else uses the token; an Obtain of
// the other one takes nothing away; when all is over no key is left. It may not count on what a Release or a
// clean-up of the other one frees (trustsFrees), nor on a lease or mode that the other one changes
// (trustsChanges), however late such a request is (trustsLate): its own requests do not close those.
func apart() group {
	const n = 2
	next := []step{do(1, obtain, b, 2), do(1, refresh, b, 2), do(1, release, b)}
	g := group{
		name:   "apart",
		proves: "what two processes with one token may count on, and what they may not",
		models: []model{
			program("release", n, []step{do(0, obtain, ab, 1), do(0, release, ab)}, next),
			program("refresh", n, []step{do(0, obtain, ab, 2), do(0, refresh, ab, 1), do(0, release, ab)}, next[:2]),
			program("convert", n, []step{do(0, obtain, ab, 2), do(0, downgrade, ab, 2), do(0, upgrade, ab, 2)}, next[:2]),
		},
		breaches: []breach{noGuard, trustsFrees, trustsChanges, trustsLate},
	}
	for i := range g.models {
		g.models[i].process = [holds]int8{0, 1}
	}
	return g
}
