package run

import "os"

// listen reads what comes.
func (l *link) listen(in *os.File) {
	go func() {
		for buf := make([]byte, 4096); ; {
			n, err := in.Read(buf)
			l.mu.Lock()
			l.text = append(l.text, buf[:n]...)
			l.gone = err != nil
			l.newsLocked()
			l.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
}

// catchUpLocked is a matter of Unix, where a process can be stopped.
func (l *link) catchUpLocked() {}
