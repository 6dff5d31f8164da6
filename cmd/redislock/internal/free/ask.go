package free

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
)

// canAsk reports whether somebody sees a question on stderr, and answers on stdin.
func canAsk(to cli.Streams) bool { return isTerminal(to.In) && isTerminal(to.Err) }

func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && cli.IsTerminal(file)
}

// A lines reads what somebody types.
type lines struct{ r *bufio.Reader }

// yes waits for a line, and reports whether it says yes. The end of the input is no answer, and so means no. If ctx ends it
// does not wait any more; the lines are not to be used then.
func (l *lines) yes(ctx context.Context) (bool, error) {
	a := await(ctx, func() (string, error) { return l.r.ReadString('\n') })
	if a.err != nil && !errors.Is(a.err, io.EOF) {
		return false, a.err
	}
	word := strings.ToLower(strings.TrimSpace(a.got))
	return a.err == nil && (word == "y" || word == "yes"), nil
}

// An outcome is what a function has returned.
type outcome[T any] struct {
	got T
	err error
}

// await calls a function. If ctx ends it is not waited for any more; then the error is why ctx has ended.
func await[T any](ctx context.Context, fn func() (T, error)) (of outcome[T]) {
	done := make(chan outcome[T], 1)
	go func() {
		got, err := fn()
		done <- outcome[T]{got, err}
	}()
	select {
	case of = <-done:
	case <-ctx.Done():
		of.err = context.Cause(ctx)
	}
	return of
}
