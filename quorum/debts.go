package quorum

import (
	"context"
	"sync"
)

// Debts are the requests under way for tokens that callers have chosen. Such a token comes back: what
// an ended lock still releases would be keys of the next one. So that one waits for it. Tokens that
// the nodes make are those of one request.
type debts struct {
	mu sync.Mutex
	by map[string]map[chan struct{}]bool // by token; closed when paid
}

// spawnFor runs fn, which asks a node about a lock, on a goroutine.
func (c *Client) spawnFor(w *want, fn func()) {
	token, d := w.opt.Token, &c.debts
	if token == "" {
		c.spawn(fn)
		return
	}
	paid := make(chan struct{})
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.by == nil {
		d.by = make(map[string]map[chan struct{}]bool)
	}
	if d.by[token] == nil {
		d.by[token] = make(map[chan struct{}]bool)
	}
	d.by[token][paid] = true
	c.spawn(func() {
		defer d.pay(token, paid)
		fn()
	})
}

func (d *debts) pay(token string, paid chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	close(paid)
	if delete(d.by[token], paid); len(d.by[token]) == 0 {
		delete(d.by, token)
	}
}

// settle waits for what is under way for a token now, or until ctx ends.
func (d *debts) settle(ctx context.Context, token string) {
	d.mu.Lock()
	owed := make([]chan struct{}, 0, len(d.by[token]))
	for paid := range d.by[token] {
		owed = append(owed, paid)
	}
	d.mu.Unlock()
	for _, paid := range owed {
		select {
		case <-paid:
		case <-ctx.Done():
			return
		}
	}
}
