package main

// set shows a set that is taken at once beside one key after the other, and what a failure leaves.
func set() []byte {
	return drawing(212, "A set at once, and one key after the other",
		"On the left A takes order:7, is refused stock:9, which B holds, and dies: order:7 stays locked until its ttl is over. "+
			"On the right A asks for both, is refused both, and has taken nothing; when B releases, A has both at the same instant.",
		func(c *canvas) {
			lanes := func(x int, title string) {
				c.text("title", start, x, 20, title)
				c.text("mono", start, x, 78, "order:7")
				c.text("mono", start, x, 138, "stock:9")
			}
			lanes(0, "One key after the other")
			c.bar("a", 70, 60, 120, "A holds")
			c.bar("bad", 190, 60, 200, "locked, nobody works")
			c.bar("b", 70, 120, 320, "B holds")
			c.arrow("a", 130, 88, 130, 119)
			c.text("dim", start, 138, 109, "busy")
			c.line("bad", 190, 46, 190, 104)
			c.text("bad", middle, 190, 42, "A dies")
			c.text(start, start, 0, 182, "The failure leaves half of the set locked until its ttl")
			c.text(start, start, 0, 200, "is over, although nobody works on it.")

			lanes(440, "A set at once, in one script")
			c.bar("b", 510, 120, 160, "B holds")
			c.arrow("a", 565, 60, 565, 119)
			c.text("dim", start, 572, 78, "A asks: busy,")
			c.text("dim", start, 572, 98, "nothing taken")
			c.line("good", 690, 46, 690, 160)
			c.text("good", middle, 690, 42, "both, or none")
			c.bar("a", 690, 60, 138, "A holds")
			c.bar("a", 690, 120, 138, "A holds")
			c.text(start, start, 440, 182, "A refusal leaves nothing, and a lost reply is cleaned up.")
			c.text(start, start, 440, 200, "If A dies, the keys of the set end together.")
		})
}
