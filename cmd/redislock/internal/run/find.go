package run

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
)

// find returns the path of a command. Its error has the exit status of env(1).
func find(command string) (path string, err error) {
	path, err = exec.LookPath(command)
	if err == nil || errors.Is(err, exec.ErrDot) {
		return path, nil // as env does it: the PATH says so
	}
	if e, ok := errors.AsType[*exec.Error](err); ok {
		err = e.Err
	}
	switch info, statErr := os.Stat(command); {
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return "", cli.Exit(cli.NotFound, fmt.Errorf("%s: not found", cli.Text(command)))
	case statErr == nil && info.IsDir():
		return "", cli.Exit(cli.CannotRun, fmt.Errorf("%s is a directory", cli.Text(command)))
	default:
		return "", cli.Exit(cli.CannotRun, fmt.Errorf("cannot run %s: %w", cli.Text(command), err))
	}
}
