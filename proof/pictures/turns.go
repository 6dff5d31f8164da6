package main

// turns shows the three ways in which a lock goes from one holder to the next, with the number of messages.
func turns() []byte {
	return drawing(296, "Three ways in which a lock goes from one holder to the next",
		"Handed over in Redis: A releases, the script gives the keys to the next in line, B of another client, tells it by a message: with the "+
			"Obtain of B, which stood in line, that is two commands and one message. Carried by the Release: B is of the same client, and the release of A obtains for B "+
			"in the same command: one command. PassOn: A passes the lock to B inside of the process: none.",
		func(c *canvas) {
			for i, way := range []struct{ title, first, second, count, class string }{
				{"Handed over in Redis", "B is of another client,", "or stands in line in Redis", "2 commands, 1 message", "b"},
				{"Carried by the Release", "B is of the same client,", "and has not asked yet", "1 command", "a"},
				{"Options.PassOn", "as before, within PassOn;", "other processes wait longer", "nothing", "a"},
			} {
				x := 285 * i
				c.text("title", start, x, 20, way.title)
				c.text("dim", start, x, 42, way.first)
				c.text("dim", start, x, 60, way.second)
				c.bar("frame", x+30, 76, 200, "Redis")
				c.bar("a", x, 226, 112, "A, its turn ends")
				c.bar(way.class, x+148, 226, 112, "B, next")
				c.text("title", start, x, 290, way.count)
				switch i {
				case 0:
					c.arrow("b", x+205, 225, x+205, 105)
					c.text("b", start, x+211, 140, "1 Obtain:")
					c.text("b", start, x+211, 158, "in line")
					c.arrow("a", x+45, 225, x+45, 105)
					c.text("a", start, x+52, 140, "2 Release:")
					c.text("a", start, x+52, 158, "B has it")
					c.line("good dash", x+130, 105, x+130, 236)
					c.arrow("good dash", x+130, 236, x+147, 236)
					c.text("good", start, x+136, 200, "message")
				case 1:
					c.arrow("a", x+45, 225, x+45, 105)
					c.text("a", start, x+52, 150, "Release of A")
					c.text("a", start, x+52, 168, "and Obtain")
					c.text("a", start, x+52, 186, "of B in one")
					c.arrow("a", x+113, 240, x+147, 240)
				case 2:
					c.text("dim", middle, x+130, 168, "nothing is sent")
					c.arrow("a", x+113, 240, x+147, 240)
				}
			}
		})
}
