// Command pictures makes the pictures of the README and of docs, as SVG:
//
//	make pictures
//
// They stand beside it, and not in docs, because whoever gets the library would download them there.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

// pictures are the drawings by the names of their files.
var pictures = map[string]func() []byte{
	"paused.svg":   paused,
	"set.svg":      set,
	"terminal.svg": terminal,
	"turns.svg":    turns,
}

func main() {
	url := flag.String("redis", "", "the `url` of an empty server, to run the tool anew")
	tool := flag.String("tool", "redislock", "the `program` that is run")
	flag.Parse()
	if err := run(flag.Arg(0), *url, *tool); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run draws all pictures into the folder. If there is a server it only writes what the tool says of it, which is drawn the next time.
func run(folder, url, tool string) error {
	if url != "" {
		return record(context.Background(), url, tool, folder)
	}
	for name, draw := range pictures {
		if err := os.WriteFile(filepath.Join(folder, name), draw(), 0o644); err != nil {
			return err
		}
	}
	return nil
}
