package cli

import (
	"context"
	"sync"
)

// A session remembers which server a command has used, for the explanation of an error: by then the command has closed its
// connection.
type session struct {
	mu    sync.Mutex
	redis *Redis // the last that was opened; nil if none was
	name  string // for people
}

type sessionKey struct{}

// withSession returns a context that has a session.
func withSession(ctx context.Context) context.Context {
	return context.WithValue(ctx, sessionKey{}, new(session))
}

// sessionOf returns the session of a context, a new one if it has none.
func sessionOf(ctx context.Context) *session {
	if s, ok := ctx.Value(sessionKey{}).(*session); ok {
		return s
	}
	return new(session)
}

// opens takes note of the server that is about to be used.
func (s *session) opens(r *Redis, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	named := *r // it may change
	s.redis, s.name = &named, name
}

// server returns what was used, nil if nothing was.
func (s *session) server() (r *Redis, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.redis, s.name
}
