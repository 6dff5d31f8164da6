package fixture

// Down counts down to zero.
func Down(n int) int {
	steps := 0
	for n > 0 {
		n--
		steps++
	}
	return steps
}
