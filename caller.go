package redislock

import (
	"context"

	"github.com/seed-14de3678/redislock/internal/count"
	"github.com/seed-14de3678/redislock/internal/inctx"
	"github.com/seed-14de3678/redislock/internal/proto"
)

// WithCaller says on whose behalf locks are obtained. Each lock that is obtained under the context stores this
// id beside [Options].Metadata, and an Obtain that stands in line shows it, too. An id that holds one set and
// waits for another is one goroutine, or one request, that does both. The id gives no rights. It has 1 to 64
// bytes of printable ASCII without spaces, '|', '=' and '"'; any other id is an [ErrInvalid] of the Obtain.
func WithCaller(ctx context.Context, id string) context.Context { return inctx.WithCaller(ctx, id) }

// callerField stands before a caller's id in text for people.
const callerField = "caller="

// callerOf returns the caller's id of a context, empty if there is none. It refuses an id that is not valid.
func callerOf(ctx context.Context) (string, error) {
	id, has := inctx.LookupCaller(ctx)
	if has && !proto.IsCaller(id) {
		return "", invalid("caller", "the id of WithCaller has %s, it may have 1 to %d of printable ASCII without "+
			"spaces, '|', '=' and '\"'", count.Of(len(id), "byte"), proto.MostCaller)
	}
	return id, nil
}

// who names a holder or a waiter in a text; it is empty if nothing is known of them.
func who(metadata, caller string) string {
	text := legible(metadata)
	switch {
	case caller == "":
		return text
	case text == "":
		return callerField + caller
	}
	return text + " " + callerField + caller
}
