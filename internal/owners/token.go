package owners

import (
	"context"
	"crypto/rand"
	"encoding/base64"
)

// NewToken returns 22 characters of base64url from 16 random bytes: a token, an id, or whatever else nobody
// has had before.
func NewToken() string {
	var raw [16]byte
	_, _ = rand.Read(raw[:]) // never fails: it ends the program instead
	var text [22]byte
	base64.RawURLEncoding.Encode(text[:], raw[:])
	return string(text[:])
}

type fresh struct{}

// Fresh marks the context of an Obtain whose token was made for the lock that it is a part of: nobody has held
// anything under it with other metadata yet, although the token is handed on like one of the caller's own.
func Fresh(ctx context.Context, token string) context.Context {
	return context.WithValue(ctx, fresh{}, token)
}

// IsFresh reports whether a context is marked so for a token.
func IsFresh(ctx context.Context, token string) bool { return ctx.Value(fresh{}) == token }
