package main

// paused shows the timeline of a holder that is paused for longer than its lease.
func paused() []byte {
	return drawing(268, "A holder that is paused for longer than its lease",
		"A holds the lock with number 41 and is paused. Its lease ends at the server, and its context would be cancelled then. B gets the "+
			"lock with number 42 and writes. A wakes up and is told of the loss at once. What it writes before it looks is refused, because 41 "+
			"is less than 42.",
		func(c *canvas) {
			for i, name := range []string{"A", "lock", "B", "resource"} {
				c.text(start, start, 0, 64+50*i, name)
			}
			c.bar("a", 80, 45, 150, "works, number 41")
			c.bar("bad", 230, 45, 330, "paused")
			c.bar("a", 80, 95, 270, "lease of A")
			c.bar("b", 390, 95, 360, "lease of B, renewed")
			c.bar("b", 390, 145, 360, "works, number 42")
			c.bar("good", 80, 195, 748, "")
			c.text(start, start, 92, 213, "refuses what is less than the last number")

			c.line("dash", 350, 34, 350, 186)
			c.text("dim", middle, 350, 28, "deadline of A")
			c.text("bad", start, 566, 54, "A wakes up: its context is")
			c.text("bad", start, 566, 71, "cancelled, ErrLockLost")
			c.arrow("b", 450, 173, 450, 194)
			c.text("good", start, 458, 213, "42 is written")
			c.arrow("bad", 640, 78, 640, 194)
			c.text("bad", start, 646, 213, "41 comes late: refused")
			c.text("dim", start, 0, 256, "The lock tells A as soon as A runs again. What A writes before it looks, only the resource can refuse.")
		})
}
