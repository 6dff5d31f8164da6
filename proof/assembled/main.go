// Assembled writes the Lua scripts as servers run them, with what they include: one file each, into a folder. So luacheck
// sees all that a script is made of, and that it uses all of it.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	_ "github.com/seed-14de3678/redislock" // which has the scripts
	"github.com/seed-14de3678/redislock/internal/proto"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: assembled FOLDER")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func write(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for _, script := range proto.Scripts() {
		if err := os.WriteFile(filepath.Join(folder, script.Name()+".lua"), []byte(script.Source()), 0o644); err != nil {
			return err
		}
	}
	return nil
}
