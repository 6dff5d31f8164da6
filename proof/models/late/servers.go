package late

// servers is one process that has a token on two servers, with a key of the same name on each: A is that of
// the first, B that of the second. The process does not know that they are two: a server may have two names.
// At most three tries stay without an answer.
//
// A request sets guards on its own server. So it closes for good only what was sent to that one, as far as
// the process knows; what was sent to another one need not be closed twice there, and stays open.
func servers() group {
	const n = 3
	g := group{
		name:   "servers",
		proves: "late requests change nothing when one process uses a token on two servers that it takes for one",
		models: []model{
			program("one after the other", n, []step{
				do(0, obtain, a, 2), do(1, obtain, b, 2), do(0, refresh, a, 1), do(1, refresh, b, 2), do(0, refresh, a, 2),
				do(1, release, b), do(0, release, a),
			}),
			program("together", n-1, []step{do(0, obtain, a, 2), do(0, refresh, a, 1), do(0, refresh, a, 2), do(0, release, a)},
				[]step{do(1, obtain, b, 2), do(1, release, b)}),
		},
		breaches: []breach{noGuard, anyServer},
	}
	for i := range g.models {
		g.models[i].twins = true
	}
	return g
}
