package owners

import (
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
