//go:build unix

package run

import (
	"errors"
	"os"
	"syscall"
)

// listen reads what comes.
func (l *link) listen(in *os.File) {
	raw, err := in.SyscallConn()
	l.in, l.gone = raw, err != nil
	go func() {
		for over := l.gone; !over; {
			err := raw.Read(func(fd uintptr) bool {
				l.mu.Lock()
				defer l.mu.Unlock()
				news := l.fillLocked(int(fd))
				over = l.gone
				return news || over
			})
			l.mu.Lock()
			over = over || err != nil
			l.gone = over
			l.newsLocked()
			l.mu.Unlock()
		}
	}()
}

// catchUpLocked reads what waits in the pipe. A process that was stopped has not read what came meanwhile.
func (l *link) catchUpLocked() {
	if !l.gone {
		_ = l.in.Control(func(fd uintptr) { l.fillLocked(int(fd)) })
	}
}

// fillLocked reads all there is, and reports whether that was something.
func (l *link) fillLocked(fd int) (news bool) {
	for buf := make([]byte, 4096); !l.gone; {
		switch n, err := syscall.Read(fd, buf); {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EAGAIN):
			return news
		default:
			l.gone = n <= 0
			l.text = append(l.text, buf[:max(0, n)]...)
			news = true
		}
	}
	return news
}
