//go:build !race

package explore

const share = 1
