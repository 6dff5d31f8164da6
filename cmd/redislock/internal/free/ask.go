package free

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
)

// canAsk reports whether somebody sees a question on stderr, and answers on stdin.
func canAsk(to cli.Streams) bool { return cli.IsTerminal(to.In) && cli.IsTerminal(to.Err) }

// A lines reads what somebody types.
type lines struct{ r *bufio.Reader }

// yes waits for a line, and reports whether it says yes. The end of the input is no answer, and so means no. If ctx ends it
// does not wait any more; the lines are not to be used then.
func (l *lines) yes(ctx context.Context) (bool, error) {
	line, err := cli.Await(ctx, func() (string, error) { return l.r.ReadString('\n') })
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	word := strings.ToLower(strings.TrimSpace(line))
	return err == nil && (word == "y" || word == "yes"), nil
}
