package main

import (
	_ "embed" // what the tool wrote
	"strings"
)

// transcripts are the files of what the tool wrote in a real run, and how it was called.
var transcripts = map[string][]string{
	"tree.txt":  {"tree"},
	"watch.txt": {"watch", "--count", "1"},
}

//go:embed tree.txt
var treeText string

//go:embed watch.txt
var watchText string

// terminal shows what the tool writes, as a terminal would.
func terminal() []byte {
	lines := strings.Split("$ redislock tree\n"+treeText+"\n$ redislock watch --count 1\n"+strings.TrimSpace(watchText), "\n")
	const leading, margin = 17, 14
	return drawing(len(lines)*leading+2*margin, "redislock tree and redislock watch",
		"tree draws who waits for whom: web-3 holds orders:17, for which web-4 and web-5 wait, and web-4 holds stock:9, for which web-6 "+
			"waits. watch shows each key with its mode, its holder, for how long it has been held, the rest of the lease, and who waits.",
		func(c *canvas) {
			c.WriteString("<rect class=\"frame\" x=\"1\" y=\"1\" width=\"828\" height=\"99%\" rx=\"6\"/>\n")
			for i, line := range lines {
				class := "mono"
				if strings.HasPrefix(line, "$ ") {
					class = "mono a"
				}
				if line != "" {
					c.text(class, start, margin, margin+leading*i+12, strings.ReplaceAll(line, " ", "\u00a0")) // browsers join other spaces
				}
			}
		})
}
