package redislock

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/count"
	"github.com/seed-14de3678/redislock/internal/inctx"
	"github.com/seed-14de3678/redislock/internal/proto"
)

// maxToken bounds the length of a token that a caller chooses, in bytes. It is never reduced: a string with a longer
// token is taken for somebody else's data.
const maxToken = proto.MaxToken

// checkToken reports whether a caller's token can be told apart from metadata.
func checkToken(token string) error {
	switch {
	case token == "":
		return invalid("token", "it is empty")
	case strings.Contains(token, proto.Separator):
		return invalid("token", "it contains %q, which ends a token in Redis", proto.Separator)
	case len(token) > maxToken:
		return invalid("token", "it has %d bytes, the limit is %d", len(token), maxToken)
	}
	return nil
}

// WithMetadata stores this text with each lock that has no [Options].Metadata: see [InstanceMetadata]. Default:
// none.
func WithMetadata(metadata string) ClientOption { return func(s *settings) { s.metadata = metadata } }

// InstanceMetadata describes this process, so that people who find a lock know whom to ask:
//
//	host=web-3 pid=812 prog=shop since=2026-03-01T09:26:53Z
func InstanceMetadata() string { return instanceMetadata() }

var instanceMetadata = sync.OnceValue(func() string {
	host, _ := os.Hostname() // empty if it fails
	return fmt.Sprintf("host=%s pid=%d prog=%s since=%s",
		word(cmp.Or(host, "unknown")), os.Getpid(), word(filepath.Base(os.Args[0])), clock.ProcessStart.UTC().Format(time.RFC3339))
})

// word keeps a value with spaces or quotes as one word of key=value text.
func word(s string) string {
	if strings.ContainsAny(s, " \t\n\"=|") || !printable(s) {
		return strconv.Quote(s)
	}
	return s
}

// WithCaller says on whose behalf locks are obtained. Each lock that is obtained under the context stores this
// id beside [Options].Metadata, and an Obtain that stands in line shows it, too. An id that holds one set and
// waits for another is one goroutine, or one request, that does both. The id gives no rights. It has 1 to 64
// bytes of printable ASCII without spaces, '|', '=' and '"'; any other id is an [ErrInvalid] of the Obtain.
func WithCaller(ctx context.Context, id string) context.Context { return inctx.WithCaller(ctx, id) }

// callerOf returns the caller's id of a context, empty if there is none. It refuses an id that is not valid.
func callerOf(ctx context.Context) (string, error) {
	id, has := inctx.LookupCaller(ctx)
	if has && !proto.IsCaller(id) {
		return "", invalid("caller", "the id of WithCaller has %s, it may have 1 to %d of printable ASCII without "+
			"spaces, '|', '=' and '\"'", count.Of(len(id), "byte"), proto.MostCaller)
	}
	return id, nil
}
