package late

// base is what the protocol is about: one token, two holds that share key B, one operation at a time, clean-ups
// beside it; at most three tries without an answer, and each tried once more. One program stands in line for
// keys that another token holds.
func base() group {
	const n = 3
	inLine := func(name string, other [keys]mode, steps ...step) model {
		m := program(name, n, steps)
		m.other, m.waiterLease = other, 2
		return m
	}
	return group{
		name:   "base",
		proves: "a late request changes nothing that the next hold of its token counts on, and nothing stays locked",
		models: []model{
			program("shrink", n, []step{
				do(0, obtain, ab, 2), do(0, refresh, ab, 1), do(0, refresh, ab, 2), do(0, release, a),
				do(0, refresh, ab, 2), do(0, release, ab),
			}),
			program("next hold", n, []step{
				do(0, obtain, ab, 1), do(0, refresh, ab, 1), do(0, release, ab),
				do(1, obtain, b, 2), do(1, refresh, b, 2), do(1, release, b),
			}),
			program("both holds", n, []step{
				do(0, obtain, ab, 2), do(0, refresh, ab, 1), do(1, obtain, b, 2), do(0, release, a), do(1, release, b),
			}),
			program("failed obtain", n, []step{
				do(0, obtain, ab, 1), do(1, obtain, b, 2), do(1, refresh, b, 2), do(1, release, b),
			}),
			program("shorter obtain", n, []step{
				do(1, obtain, b, 2), do(0, obtain, ab, 1), do(1, refresh, b, 2), do(1, release, b),
			}),
			program("convert", n, []step{
				do(0, obtain, ab, 2), do(0, downgrade, ab, 2), do(0, upgrade, ab, 2), do(0, release, a),
				do(0, downgrade, b, 2), do(0, upgrade, b, 2), do(0, release, b),
			}),
			program("watch", n, []step{
				do(0, obtain, ab, 1), do(0, renew, ab, 2), do(0, refresh, ab, 1), do(0, renew, ab, 2), do(0, renew, ab, 3),
				do(0, release, a), do(0, renew, b, 2), do(0, release, b),
			}),
			inLine("stand in line", [keys]mode{writes, free},
				do(0, queue, ab, 2), do(0, refresh, ab, 2), do(0, release, ab)),
			inLine("stand in the other line", [keys]mode{free, writes},
				do(0, queue, ab, 2), do(0, release, a), do(0, refresh, b, 2), do(0, release, b)),
		},
		breaches: []breach{
			noGuard, forGood, unaskedEntry, noSpare, freesUncounted, staysPut, ownLineOnly, shortens, unstamped, plainRenewal,
		},
	}
}

// numbers is the programs of base with an owner that has three numbers only, and then takes a fresh id.
func numbers() group {
	g := group{
		name:     "numbers",
		proves:   "no late request does harm when the numbers of an owner are used up and it takes a fresh id",
		breaches: []breach{capped, keepsFormer},
	}
	for _, m := range base().models {
		m.last = 3
		g.models = append(g.models, m)
	}
	return g
}
