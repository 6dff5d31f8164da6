package late

// together is two callers of one token, or of one lock, at the same time; at most two tries without an answer,
// three in the last program.
func together() group {
	const n = 2
	next := []step{do(1, obtain, b, 2), do(1, release, b)}
	return group{
		name:   "together",
		proves: "no late request does harm where there are two callers of one token, or of one lock, at the same time",
		models: []model{
			program("release", n, []step{do(0, obtain, ab, 1), do(0, release, ab)}, next),
			program("refresh", n, []step{do(0, obtain, ab, 2), do(0, refresh, ab, 1), do(0, release, ab)}, next),
			program("downgrade", n, []step{do(0, obtain, ab, 2), do(0, downgrade, ab, 2), do(0, release, ab)}, next),
			program("upgrade", n, []step{do(0, obtain, ab, 1), do(0, upgrade, ab, 1), do(0, release, ab)}, next),
			program("release keys", n,
				[]step{do(0, obtain, ab, 2), do(0, refresh, ab, 1), do(0, refresh, ab, 2), do(0, release, ab)},
				[]step{do(0, release, a), do(1, obtain, a, 2)}),
			heldFrom(program("refused", n, []step{do(0, obtain, b, 1), do(0, release, b)}, []step{do(1, obtain, ab, 2)})),
			program("renew", n,
				[]step{do(0, obtain, ab, 2), do(0, refresh, ab, 1), do(0, release, ab)},
				[]step{do(0, renew, ab, 2), do(1, obtain, a, 2)}),
			program("overtaken by its own", n+1,
				[]step{do(0, obtain, ab, 2), do(1, obtain, b, 2), do(1, refresh, b, 1), do(0, refresh, ab, 2)},
				[]step{do(0, release, a)}),
		},
		breaches: []breach{
			noGuard, noSpare, lowers, settlesAll, settlesOvertaken, freesUncounted, changesUncounted,
			heedsOvertaken, releasesAgain, refreshesAgain, upgradesAgain, downgradesAgain, sparesForGood,
		},
	}
}

// heldFrom has another token hold key A at first.
func heldFrom(m model) model {
	m.other = [keys]mode{writes, free}
	return m
}
