package owners

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"time"

	"github.com/seed-14de3678/redislock/internal/clock"
)

// A token that was made for a lock is two texts of base64url: when it was made, 48 bits of milliseconds since 1970 by the
// wall clock of this process, and 16 random bytes. The scripts find the first one in a stored value: see lua/include/values.lua.
const (
	timeBytes   = 6
	randomBytes = 16
	timeLength  = timeBytes * 4 / 3
	idLength    = (randomBytes*4 + 2) / 3
)

// NewToken returns the token of a new lock: 30 characters. The last 22 of them are random. The first 8 say when it was
// made, and are no secret.
func NewToken() string {
	var raw [timeBytes + randomBytes]byte
	ms := time.Now().UnixMilli()
	for i := range timeBytes {
		raw[i] = byte(ms >> (8 * (timeBytes - 1 - i)))
	}
	_, _ = rand.Read(raw[timeBytes:]) // never fails: it ends the program instead
	var text [timeLength + idLength]byte
	base64.RawURLEncoding.Encode(text[:], raw[:])
	return string(text[:])
}

// NewID returns 22 characters of base64url from 16 random bytes: an id that nobody has had before, and that is no token
// of a lock.
func NewID() string {
	var raw [randomBytes]byte
	_, _ = rand.Read(raw[:]) // never fails: it ends the program instead
	var text [idLength]byte
	base64.RawURLEncoding.Encode(text[:], raw[:])
	return string(text[:])
}

// NewCaller returns a short random id for a caller that has none of its own: 72 random bits.
func NewCaller() string { return NewID()[:12] }

// MadeAt returns when a token was made, by its first 8 characters, as scripts return them. It is zero if they say no
// time, or an impossible one: before the library existed, or more than a day from now. Callers choose tokens of their
// own, and clocks are wrong.
func MadeAt(stamp string) time.Time {
	raw, err := base64.RawURLEncoding.DecodeString(stamp)
	if err != nil || len(raw) != timeBytes {
		return time.Time{}
	}
	var ms int64
	for _, b := range raw {
		ms = ms<<8 | int64(b)
	}
	at, first := time.UnixMilli(ms), 2025
	if clock.IsVirtual() {
		first = 2000
	}
	if at.UTC().Year() < first || time.Until(at) > 24*time.Hour {
		return time.Time{}
	}
	return at
}

type fresh struct{}

// Fresh marks the context of an Obtain with a token that was made for the lock that it is a part of. Nobody has held
// anything under it with other metadata yet, although the token is passed on like a caller's own.
func Fresh(ctx context.Context, token string) context.Context {
	return context.WithValue(ctx, fresh{}, token)
}

// IsFresh reports whether a context is marked so for a token.
func IsFresh(ctx context.Context, token string) bool { return ctx.Value(fresh{}) == token }
