package redislock

import (
	"context"
	"fmt"
	"strings"

	"github.com/seed-14de3678/redislock/internal/count"
	"github.com/seed-14de3678/redislock/internal/owners"
)

// ownerField stands before an owner id in metadata, as a word of its own.
const ownerField = "owner="

// mostOwner bounds the length of an owner id, in bytes.
const mostOwner = 64

// ownerLength is how many characters [NewOwnerID] returns: 72 random bits.
const ownerLength = 12

type ownerKey struct{}

// WithOwner says who obtains: every lock that is obtained under the context, or one derived from it, has
// this owner id stored with its metadata, as a last word " owner=ID" behind [Options].Metadata. So it
// does while it stands in line. An observer who finds the same id at two sets, as [Holder].Owner,
// [Waiter].Owner or [ConflictError].Owner, knows that one goroutine, or one request, holds the one and
// waits for the other. What is read as Metadata ends before that word, so whatever reads the metadata of
// a program reads it as it was given. Without an id in the context a last word "owner=…" of
// Options.Metadata itself counts as the id, if it could be one. The id is no secret, and gives no rights:
// it is no token.
//
// An id has 1 to 64 bytes of printable ASCII, without spaces, '|', '=' and '"'. With another id every
// Obtain under the context fails with an [ErrInvalidMetadata], before anything is sent. An id in ctx is
// replaced by the new one.
func WithOwner(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, ownerKey{}, id)
}

// OwnerOf returns the owner id that [WithOwner] has put into a context; it is empty without one.
func OwnerOf(ctx context.Context) string {
	id, _ := ctx.Value(ownerKey{}).(string)
	return id
}

// NewOwnerID returns a short random id for [WithOwner], for goroutines and requests that have no id of
// their own.
func NewOwnerID() string { return owners.NewID()[:ownerLength] }

// withOwner adds the owner id of a context to metadata, if there is one.
func withOwner(ctx context.Context, metadata string) (string, error) {
	id, has := ctx.Value(ownerKey{}).(string)
	switch {
	case !has:
		return metadata, nil
	case !isOwnerID(id):
		return "", fmt.Errorf("%w: the owner id of WithOwner has %s, it may have 1 to %d of printable ASCII without "+
			"spaces, '|', '=' and '\"'", ErrInvalidMetadata, count.Of(len(id), "byte"), mostOwner)
	case metadata == "":
		return ownerField + id, nil
	}
	return metadata + " " + ownerField + id, nil
}

func isOwnerID(id string) bool {
	if len(id) < 1 || len(id) > mostOwner {
		return false
	}
	for i := range len(id) {
		if c := id[i]; c <= ' ' || c > '~' || c == '|' || c == '=' || c == '"' {
			return false
		}
	}
	return true
}

// splitOwner splits what is stored with a lock into the metadata that the caller gave, and the owner id
// if its last word is one.
func splitOwner(stored string) (metadata, id string) {
	last := strings.LastIndexByte(stored, ' ') + 1
	id, has := strings.CutPrefix(stored[last:], ownerField)
	if !has || !isOwnerID(id) {
		return stored, ""
	}
	return stored[:max(0, last-1)], id
}

// who names an owner in a text; empty if nothing is known of it.
func who(metadata, id string) string {
	text := legible(metadata)
	switch {
	case id == "":
		return text
	case text == "":
		return ownerField + id
	}
	return text + " " + ownerField + id
}
