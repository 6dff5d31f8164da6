package redistest

import (
	"sync"
	"time"
)

// A Kept is one command that a [Relay] has kept back. Its client has seen the end of the connection, but the server has
// not. The command is delivered over its own connection when the test says so; what was written behind it is never
// delivered.
type Kept struct {
	deliver  func()
	onItsWay <-chan struct{} // closed by deliver
	answer   func(reply []byte)
	answered <-chan []byte // filled by answer, once
}

// Keep has the relay keep back the next command that want accepts, one for each call: name is in upper case. It is not
// called for commands that a blackhole swallows.
func (r *Relay) Keep(want func(name string, args []string) bool) *Kept {
	way, answered := make(chan struct{}), make(chan []byte, 1)
	var once sync.Once
	k := &Kept{
		deliver: sync.OnceFunc(func() { close(way) }), onItsWay: way,
		answer: func(reply []byte) { once.Do(func() { answered <- reply }) }, answered: answered,
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keeps = append(r.keeps, keeping{want, k})
	return k
}

// longestDelivery is for how long Deliver waits for a reply. If the relay has never got the command, there will be none.
const longestDelivery = time.Minute

// Deliver sends the command on and returns the server's reply as it came, or nil if the connection was cut. Call it
// once, after the client has seen the end of its connection.
func (k *Kept) Deliver() (reply []byte) {
	k.deliver()
	select {
	case reply = <-k.answered:
	case <-time.After(longestDelivery):
	}
	return reply
}

// keeping is what a test has asked for with Keep.
type keeping struct {
	want func(name string, args []string) bool
	kept *Kept
}

// takeKept returns the Kept that is to keep the command, nil if there is none.
func (r *Relay) takeKept(words []string) *Kept {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, each := range r.keeps {
		if each.want(words[0], words[1:]) {
			r.keeps = append(r.keeps[:i:i], r.keeps[i+1:]...)
			return each.kept
		}
	}
	return nil
}

// keep ends the client's side of the connection, and waits until the command is to go on, or the link is cut.
// It reports whether it goes on.
func (l *link) keep(k *Kept) bool {
	l.mu.Lock()
	l.kept = k
	l.mu.Unlock()
	_ = l.client.Close()
	select {
	case <-k.onItsWay:
		return true
	case <-l.done:
		return false
	}
}

// drop says that nothing more comes of the kept command, if there is one.
func (l *link) drop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.kept != nil {
		l.kept.answer(nil)
	}
}
