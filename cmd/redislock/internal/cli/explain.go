package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/wire"
)

// Explain turns an error of Redis or of the library into a clear message with an exit status: a server that cannot be
// reached, a user who is refused, a key that is no lock. Other errors stay as they are, and so do those that have a status.
// It asks the server which rights the user lacks, if that is what is wrong.
func Explain(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil || hasStatus(err) {
		return err
	}
	var r *Redis
	name := "Redis"
	if used := lastOf(ctx).Load(); used != nil {
		r, name = &used.redis, used.name
	}
	if answer, ok := errors.AsType[redis.Error](err); ok {
		if known := knownAnswer(answer); known != nil {
			return known.explain(ctx, r, name, answer, err)
		}
	}
	switch {
	case isNoLock(err):
		return Exit(NoLock, err)
	case isAny(err, redislock.ErrInvalid, redislock.ErrCrossSlot):
		return UsageError(err.Error())
	case isAny(err, redislock.ErrNotObtained) && !isAny(err, redislock.ErrUnknownOutcome):
		return Exit(NotObtained, err)
	case isAny(err, redislock.ErrLockLost, redislock.ErrLockNotHeld):
		return Exit(Lost, err)
	case wantsCertificate(err):
		return Exit(Refused, fmt.Errorf("cannot use %s: %w; %s", name, err, certificateOfUser))
	case isNetwork(err):
		return Exit(Unavailable, fmt.Errorf("cannot use %s: %w%s", name, err, hint(r, err)))
	}
	return err
}

// hasStatus reports whether it was said already with which status an error ends the tool.
func hasStatus(err error) bool {
	_, status := errors.AsType[*StatusError](err)
	_, usage := errors.AsType[UsageError](err)
	return status || usage
}

func isAny(err error, targets ...error) bool {
	return slices.ContainsFunc(targets, func(target error) bool { return errors.Is(err, target) })
}

// IsForeign reports whether an Obtain was refused because a key holds something that is no lock.
func IsForeign(err error) bool {
	conflict, ok := errors.AsType[*redislock.ConflictError](err)
	return ok && conflict.Mode == redislock.ModeForeign
}

// isNoLock reports whether an error says that of a key. Break says it in words alone.
func isNoLock(err error) bool {
	return IsForeign(err) || errors.Is(err, &redislock.InvalidError{Argument: "keys"}) && strings.Contains(err.Error(), "that is no lock")
}

// isNetwork reports whether an error says that there was no answer, or none of a Redis.
func isNetwork(err error) bool {
	if _, ok := errors.AsType[*os.PathError](err); ok {
		return false // of a file
	}
	_, op := errors.AsType[*net.OpError](err)
	_, dns := errors.AsType[*net.DNSError](err)
	_, call := errors.AsType[*os.SyscallError](err)
	return op || dns || call || isTLS(err) || isAny(err, errSilent, errNoMasters, io.EOF, io.ErrUnexpectedEOF, redislock.ErrUnknownOutcome,
		redis.ErrPoolTimeout, redis.ErrPoolExhausted, os.ErrDeadlineExceeded, context.DeadlineExceeded) ||
		strings.HasPrefix(err.Error(), "redis: ")
}

func isTLS(err error) bool {
	_, header := errors.AsType[tls.RecordHeaderError](err)
	_, certificate := errors.AsType[*tls.CertificateVerificationError](err)
	_, alert := errors.AsType[tls.AlertError](err)
	return header || certificate || alert
}

const certificateOfUser = "?cert=FILE&key=FILE in the url names a certificate for this user"

// wantsCertificate reports whether the server has ended the handshake because of the certificate of the user.
func wantsCertificate(err error) bool {
	alerts := []string{"certificate required", "bad certificate", "unknown certificate authority"}
	return slices.ContainsFunc(alerts, func(alert string) bool { return strings.Contains(err.Error(), "remote error: tls: "+alert) })
}

// hint says what may help against an error of the network.
func hint(r *Redis, err error) string {
	_, header := errors.AsType[tls.RecordHeaderError](err)
	_, certificate := errors.AsType[*tls.CertificateVerificationError](err)
	text := err.Error()
	switch {
	case header:
		return "; it does not speak TLS: write redis:// instead of rediss://"
	case isAny(err, redis.Nil):
		return "; no primary is known there under this name"
	case certificate:
		return "; ?cacert=FILE in the url names the certificate of the authority"
	case strings.Contains(text, "redis: can't parse"), strings.Contains(text, "redis: invalid reply"):
		return "; it does not speak the protocol of Redis"
	case isAny(err, errSilent) && r != nil && strings.HasPrefix(r.Given(), "rediss:"):
		return "; if it does not speak TLS write redis:// instead of rediss://"
	case isAny(err, io.EOF) && r != nil && strings.HasPrefix(r.Given(), "redis:"):
		return "; if it speaks TLS write rediss:// instead of redis://"
	case isAny(err, io.EOF, syscall.ECONNRESET, syscall.EPIPE) && r != nil && strings.HasPrefix(r.Given(), "rediss:"):
		return "; if it wants a certificate: " + certificateOfUser // what it has said about that may be lost
	case r == nil || r.Given() == "":
		return "; --redis or $" + RedisVariable + " names another server"
	}
	return ""
}

// legible is the text of an answer without what only the authors of a script can read.
func legible(answer redis.Error) string { return wire.Legible(answer).Error() }
