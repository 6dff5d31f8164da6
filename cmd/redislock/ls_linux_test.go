package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"
	"unsafe"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// ptyOf opens a pseudo-terminal of so many columns: what is written into the second file can be read from the first.
func ptyOf(t *testing.T, columns uint16) (master, slave *os.File) {
	t.Helper()
	master = check.Must[*os.File](t)(os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0))
	t.Cleanup(func() { _ = master.Close() })
	var number, unlocked uint32
	size := [4]uint16{24, columns}
	conn := check.Must[syscall.RawConn](t)(master.SyscallConn())
	check.NoError(t, conn.Control(func(fd uintptr) {
		for request, to := range map[uintptr]unsafe.Pointer{
			syscall.TIOCSPTLCK: unsafe.Pointer(&unlocked), syscall.TIOCGPTN: unsafe.Pointer(&number), syscall.TIOCSWINSZ: unsafe.Pointer(&size),
		} {
			if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, fd, request, uintptr(to)); errno != 0 {
				t.Error(errno)
			}
		}
	}))
	slave = check.Must[*os.File](t)(os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0))
	return master, slave
}

// On a terminal of 80 columns no line is longer, and everything that matters is there.
func TestLsOnTerminal(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Redis)
	client := redislock.New(server.Client(t))
	t.Cleanup(client.Close)
	for _, key := range []string{"orders:17", strings.Repeat("long:", 30) + "9"} {
		opt := redislock.Options{Metadata: redislock.InstanceMetadata(), Fenced: true}
		check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{key}, time.Hour, &opt))
	}
	master, slave := ptyOf(t, 80)
	p := newProcess(t, "ls", "-redis", "redis://"+server.Addr())
	p.Stdout = slave
	p.start(t)
	check.NoError(t, slave.Close())
	var lines []string
	for from := bufio.NewScanner(master); from.Scan(); { // until the process has ended, which is an error
		lines = append(lines, strings.TrimRight(from.Text(), "\r"))
	}
	if status := p.status(t); status != 0 || len(lines) != 3 {
		t.Fatalf("exit status %d, %q, %s", status, lines, &p.stderr)
	}
	for _, line := range lines {
		if n := utf8.RuneCountInString(line); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if !strings.HasPrefix(lines[1], "long:") || !strings.Contains(lines[1], "…") || !strings.HasPrefix(lines[2], "orders:17 ") {
		t.Errorf("got %q", lines)
	}
}
