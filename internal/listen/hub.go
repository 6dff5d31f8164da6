// Package listen has the waiters of this process, and the subscriptions over which they are told that it is their turn.
// It knows what the messages say; it does not know what the waiters wait for.
package listen

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/slot"
	"github.com/seed-14de3678/redislock/internal/wire"
)

// A Hub has the waiters of one client, and hears what is published to them. There is one connection for each server
// with a waiter. It comes with the first waiter and goes a little after the last. A Hub is safe for concurrent use.
type Hub struct {
	conn     *wire.Conn
	schedule *clock.Schedule
	source   wire.Source
	name     string // in every channel of the client

	waiting atomic.Int64 // waiters
	hears   atomic.Int64 // servers

	mu      sync.Mutex
	closed  bool
	servers map[wire.Subscriber]*server
	waiters map[string]*Waiter // by name
	fronts  map[string]int     // waiters by the first key of their set
	notices listening
	ended   sync.WaitGroup
	users   sync.WaitGroup  // see Begin
	ctx     context.Context // of everything that is sent, until end
	end     context.CancelFunc
}

// NewHub makes a hub with this name in its channels.
func NewHub(conn *wire.Conn, schedule *clock.Schedule, name string) *Hub {
	h := &Hub{
		conn: conn, schedule: schedule, source: conn.Source(), name: name,
		servers: make(map[wire.Subscriber]*server), waiters: make(map[string]*Waiter), fronts: make(map[string]int),
	}
	h.ctx, h.end = context.WithCancel(context.Background())
	return h
}

// CanListen reports whether the Redis client can hear anything at all.
func (h *Hub) CanListen() bool { return h.source.Of != nil }

// IsQuiet reports whether the client can hear, and does not.
func (h *Hub) IsQuiet() bool { return h.source.Of != nil && h.hears.Load() == 0 }

// Sharded reports whether channels are channels of sharded pub/sub.
func (h *Hub) Sharded() bool { return h.source.Sharded }

// channel names the channel on which this client hears about a key.
func (h *Hub) channel(key string) string {
	if !h.source.Tagged {
		return "redislock:wake:" + h.name
	}
	return "redislock:wake:{" + slot.InBraces(key) + "}:" + h.name
}

// Next returns the channel of this client's waiters for sets that begin with the key; false if there are none.
func (h *Hub) Next(key string) (channel string, somebody bool) {
	if !h.isWaited(key, nil) {
		return "", false
	}
	return h.channel(key), true
}

// isWaited reports whether somebody else in this client waits for a set that begins with the key.
func (h *Hub) isWaited(key string, myself *Waiter) bool {
	if h.waiting.Load() == 0 {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	others := h.fronts[key]
	if myself != nil && h.waiters[myself.name()] == myself {
		others--
	}
	return others > 0
}

// AskAgain has every waiter for one of the keys ask: what they were told may have been lost. If an owner is given, only
// those ask that wait for locks of that owner: it has just obtained the keys, so they can have them, too.
func (h *Hub) AskAgain(keys []string, of *owners.Owner) {
	if h.waiting.Load() == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, w := range h.waiters {
		if (of == nil || of == w.Owner) && slices.ContainsFunc(w.keys, func(key string) bool { return slices.Contains(keys, key) }) {
			w.wakeLocked()
		}
	}
}

// Deliver handles a message that came with a reply.
func (h *Hub) Deliver(message string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.deliverLocked(message)
}

// deliverLocked handles a message: see entry.lua. A message that makes no sense is for nobody. Anyone who may publish
// may have sent it, so it costs a waiter at most one request, and makes no waiter wait for longer.
func (h *Hub) deliverLocked(message string) {
	f := strings.Split(message, "|")
	if len(f) < 2 {
		return
	}
	w := h.waiters[f[1][:min(len(f[1]), NameLength)]]
	switch {
	case f[0] == "w" && w != nil:
		w.wakeLocked()
	case f[0] == "h" && len(f) == 3:
		w.askInLocked(f[2])
	case f[0] == "g" && len(f) >= 4:
		micros, err := strconv.ParseInt(f[2], 10, 64)
		number, err2 := strconv.ParseInt(f[3], 10, 64)
		if err == nil && err2 == nil {
			w.grantLocked(f[1], Grant{micros, number})
		}
		if len(f) == 6 {
			h.waiters[f[4]].askInLocked(f[5])
		}
	}
}

// Begin notes a user of the hub that may have waiters, until End. It reports false if the hub is closed.
func (h *Hub) Begin() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return false
	}
	h.users.Add(1)
	return true
}

// End ends what Begin has begun.
func (h *Hub) End() { h.users.Done() }

// Close ends all subscriptions, tells the waiters, and returns when nothing is under way any more.
func (h *Hub) Close() {
	h.mu.Lock()
	h.closed = true
	for _, s := range h.servers {
		s.breakLocked(wire.ErrClosed)
	}
	for _, w := range h.waiters {
		w.notify()
	}
	h.mu.Unlock()
	h.end()
	h.ended.Wait()
	h.users.Wait()
}
