// Package peers does the same work with several libraries: it locks one key, and frees it.
package peers

import (
	"context"
	"time"

	"github.com/seed-14de3678/redislock/proof/internal/measure"
)

// TTL is how long a lock lives. It is longer than anything that is measured.
const TTL = 10 * time.Minute

// Interval is how long a library that polls waits before it asks again.
const Interval = time.Millisecond

// A Peer is a way to lock.
type Peer struct {
	Name string
	// Cycle obtains a key, for which it waits if it has to, and releases it.
	Cycle func(ctx context.Context, key string) error
	// Try asks for a key that somebody else holds, once, and says whether it was refused. It is nil
	// where a refusal is no work of its own.
	Try func(ctx context.Context, key string) (refused bool, err error)

	close func()
}

// Close ends what the peer has started.
func (p Peer) Close() {
	if p.close != nil {
		p.close()
	}
}

// The names of the peers.
const (
	NameOurs    = "redislock"
	NameInLine  = "in line"
	NameBSM     = "bsm/redislock"
	NameRedsync = "redsync"
	NameRueidis = "rueidislock"
	NameRaw     = "go-redis"
)

// All are the peers at one server, each with a client of its own.
func All(server *measure.Server) ([]Peer, error) {
	waits, err := rueidisOf(server)
	if err != nil {
		return nil, err
	}
	return []Peer{ours(server, NameOurs, nil), bsm(server), redsyncOf(NameRedsync, server), waits, raw(server)}, nil
}
