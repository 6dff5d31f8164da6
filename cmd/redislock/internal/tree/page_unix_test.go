//go:build unix

package tree

import (
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/seed-14de3678/redislock/internal/check"
)

// What is no file is written to, and stays what it is.
func TestWritePageIntoPipe(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pipe")
	check.NoError(t, syscall.Mkfifo(path, 0o600))
	pipe := check.Must[*os.File](t)(os.OpenFile(path, os.O_RDWR, 0)) // so that nobody waits for the other end
	defer pipe.Close()
	check.NoError(t, writePage(path, nil, func(w io.Writer) error {
		_, err := io.WriteString(w, "page")
		return err
	}))
	if info := check.Must[os.FileInfo](t)(os.Stat(path)); info.Mode().Type() != os.ModeNamedPipe {
		t.Fatalf("the pipe has become %v", info.Mode())
	}
	text := make([]byte, 4)
	if _, err := io.ReadFull(pipe, text); err != nil || string(text) != "page" {
		t.Errorf("error %v, %q in the pipe", err, text)
	}
}
