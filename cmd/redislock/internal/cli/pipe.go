package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
)

// errClosedPipe is the cause with which a command ends whose output nobody reads any more.
var errClosedPipe = errors.New("nobody reads the output any more")

// withPipe returns a context that ends when standard output is a pipe that was written to and has no reader any more. Without
// that SIGPIPE would end the tool at once, and what it has on a server would stay there.
func withPipe(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGPIPE) // caught, not ignored: other programs that are started do not inherit it
	go func() {
		for {
			select {
			case <-signals: // it may be about a connection as well
				control(os.Stdout, func(fd uintptr) {
					if hasNoReader(fd) {
						cancel(errClosedPipe)
					}
				})
			case <-ctx.Done():
				return
			}
		}
	}()
	return ctx
}

// isClosedPipe reports whether a command has ended because nobody reads its output.
func isClosedPipe(ctx context.Context, err error) bool {
	file, ok := errors.AsType[*os.PathError](err)
	return errors.Is(context.Cause(ctx), errClosedPipe) || ok && errors.Is(err, syscall.EPIPE) && file.Path == os.Stdout.Name()
}
