package redislock

import (
	"context"

	"github.com/seed-14de3678/redislock/internal/count"
	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/proto"
)

// ownerField stands before an owner id in what people read.
const ownerField = "owner="

// ownerLength is how many characters [NewOwnerID] returns: 72 random bits.
const ownerLength = 12

type ownerKey struct{}

// WithOwner says who obtains: every lock that is obtained under the context, or one derived from it, has
// this owner id stored beside [Options].Metadata, and so has whoever stands in line. An observer who finds
// the same id at two sets, as [Holder].Owner, [Waiter].Owner or [ConflictError].Owner, knows that one
// goroutine, or one request, holds the one and waits for the other. The id is stored apart from the
// metadata: these may be any bytes and are read as they were given, and metadata that ends with "owner=x"
// is just metadata. Texts for people have the id as a last word " owner=ID" behind the metadata. The id is
// no secret, and gives no rights: it is no token.
//
// An id has 1 to 64 bytes of printable ASCII, without spaces, '|', '=' and '"'. With another id every
// Obtain under the context fails with an [ErrInvalid], before anything is sent. An id in ctx is
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

// ownerOf returns the owner id of a context, and is empty without one. It refuses what is no id.
func ownerOf(ctx context.Context) (string, error) {
	id, has := ctx.Value(ownerKey{}).(string)
	if has && !proto.IsOwnerID(id) {
		return "", invalid("metadata", "the owner id of WithOwner has %s, it may have 1 to %d of printable ASCII without "+
			"spaces, '|', '=' and '\"'", count.Of(len(id), "byte"), proto.MostOwner)
	}
	return id, nil
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
