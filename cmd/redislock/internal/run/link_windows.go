package run

import (
	"os"
	"sync"
)

// reader returns what takes all that was read of a pipe, and calls news when that is something.
func reader(in *os.File, news func()) func() (text []byte, gone bool) {
	var mu sync.Mutex
	var unread []byte
	var isGone bool
	go func() {
		for buf := make([]byte, 4096); ; {
			n, err := in.Read(buf)
			mu.Lock()
			unread, isGone = append(unread, buf[:n]...), err != nil
			mu.Unlock()
			if news(); err != nil {
				return
			}
		}
	}()
	return func() (text []byte, gone bool) {
		mu.Lock()
		defer mu.Unlock()
		text, unread = unread, nil
		return text, isGone
	}
}
