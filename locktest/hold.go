package locktest

import (
	"context"
	"slices"
	"time"

	"github.com/seed-14de3678/redislock"
)

// SomebodyElse is the metadata of a lock that [Server.Hold] holds, as a [redislock.ConflictError] has it,
// for example.
const SomebodyElse = "somebody else"

// holdTTL is longer than any test.
const holdTTL = 30 * 24 * time.Hour

// within is how long the Server waits for its own requests.
const within = 30 * time.Second

// Hold write-locks keys as somebody else would, with the metadata [SomebodyElse], until the test
// releases the lock, or ends. The lock belongs to another Client, and its requests meet no faults. Keys
// are named as in Redis: with the prefix of the Client under test, if it has one.
//
// Hold does not wait. If the keys cannot be had at once the test fails, and says who has them.
func (s *Server) Hold(keys ...string) *redislock.Lock {
	s.tb.Helper()
	return s.hold(keys, nil)
}

// HoldRead is [Server.Hold] for read locks.
func (s *Server) HoldRead(keys ...string) *redislock.Lock {
	s.tb.Helper()
	return s.hold(nil, keys)
}

func (s *Server) hold(write, read []string) *redislock.Lock {
	s.tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	lock, err := s.other.ObtainSet(ctx, redislock.Set{Write: write, Read: read}, holdTTL, &redislock.Options{Metadata: SomebodyElse})
	if err != nil {
		s.tb.Fatalf("locktest: hold: %v", err)
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = append(s.held, lock)
	return lock
}

// isHeld reports whether the Server holds a key by Hold.
func (s *Server) isHeld(ctx context.Context, key string) bool {
	s.mu.Lock()
	held := slices.Clone(s.held)
	s.mu.Unlock()
	for _, lock := range held {
		if slices.Contains(lock.Keys(), key) {
			if left, err := lock.TTL(ctx); err == nil && left > 0 {
				return true
			}
		}
	}
	return false
}
