package look

import (
	"io"
	"os"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
)

// usualWidth is how wide a terminal is that does not say.
const usualWidth = 80

// widthOf returns how wide lines may be; 0 if they are not for a terminal.
func widthOf(w io.Writer) int {
	file, ok := w.(*os.File)
	if !ok || !cli.IsTerminal(file) {
		return 0
	}
	if columns, _ := cli.TerminalSize(file); columns > 0 {
		return columns
	}
	return usualWidth
}
