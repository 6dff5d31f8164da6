package cli

import (
	"context"
	"sync/atomic"
)

// A session remembers which server a command has used, for the explanation of an error: by then the command has closed its
// connection.
type session struct{ last atomic.Pointer[used] }

// A used is the server that was opened last.
type used struct {
	redis Redis
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
