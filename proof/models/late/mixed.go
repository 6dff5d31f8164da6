package late

// mixed is sets of which some keys are read and some are written: at most two tries without an answer, and one
// reader of another token, who may come to a key that is free or read, and goes at any time.
func mixed() group {
	const n = 2
	g := group{
		name:   "mixed",
		proves: "no late request does harm to sets of which some keys are read and some are written",
		models: []model{
			program("read, then write", n, []step{
				do(0, obtain, ab, 1).reading(ab), do(0, release, ab), do(1, obtain, b, 2), do(1, refresh, b, 2), do(1, release, b),
			}),
			program("write what is read", n, []step{
				do(0, obtain, ab, 1).reading(b), do(0, upgrade, ab, 2), do(0, release, a), do(0, refresh, b, 2),
			}),
			program("read beside", n, []step{
				do(0, obtain, ab, 1).reading(ab), do(1, obtain, b, 2).reading(b), do(0, release, ab), do(1, upgrade, b, 2),
			}),
			program("downgrade, then write", n, []step{
				do(0, obtain, ab, 2).reading(a), do(0, downgrade, ab, 2), do(0, release, ab), do(1, obtain, b, 1),
			}),
			program("renew", n, []step{
				do(0, obtain, ab, 1).reading(b), do(0, renew, ab, 2), do(0, renew, ab, 3), do(0, release, ab),
			}),
			program("together", n, []step{do(0, obtain, ab, 1).reading(b), do(0, release, ab)},
				[]step{do(1, obtain, b, 2), do(1, release, b)}),
		},
		breaches: []breach{noGuard, readsUncounted, readsAgain, freesUncounted, noSpare},
	}
	for i := range g.models {
		g.models[i].readers, g.models[i].turns = b, 1
	}
	return g
}
