package look

import (
	"bufio"
	"io"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
)

func writeObjects(w io.Writer, states []redislock.KeyState, prefix string) error {
	out := bufio.NewWriter(w)
	for _, s := range states {
		if err := cli.WriteJSON(out, cli.KeyObjectOf(s, prefix)); err != nil {
			return err
		}
	}
	return out.Flush()
}
