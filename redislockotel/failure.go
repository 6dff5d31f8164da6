package redislockotel

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
)

// The values of error.type. Beside them there are the codes of the server, see codeOf.
const (
	typeConflict       = "conflict"
	typeLeft           = "left"
	typeForeign        = "foreign"
	typeRestarted      = "restarted"
	typeWaitOver       = "wait_over"
	typeCanceled       = "canceled"
	typeDeadline       = "deadline_exceeded"
	typeTooLate        = "too_late"
	typeUnknownOutcome = "unknown_outcome"
	typeNotReplicated  = "not_replicated"
	typeTimeout        = "timeout"
	typeConnection     = "connection"
	typeClosed         = "closed"
	typeBroken         = "broken"
	typeNotHeld        = "not_held"
	typeUnconfirmed    = "unconfirmed"
	typeExpired        = "expired"
	typeOther          = "_OTHER"
)

// lossTypes are the ways in which a lock is lost.
var lossTypes = []string{typeBroken, typeNotHeld, typeUnconfirmed, typeExpired, typeClosed}

// lossType says how a lock was lost.
func lossType(err error) string {
	switch {
	case errors.Is(err, redislock.ErrBroken):
		return typeBroken
	case errors.Is(err, redis.ErrClosed):
		return typeClosed
	case errors.Is(err, redislock.ErrLockNotHeld):
		return typeNotHeld
	}
	return typeUnconfirmed
}

// isLoss reports whether the error of a Release says that a lock was lost.
func isLoss(err error) bool { return errors.Is(err, redislock.ErrLockNotHeld) }

// errorType says why an operation has failed, in one of few words.
func errorType(ctx context.Context, err error) string {
	conflict, _ := errors.AsType[*redislock.ConflictError](err)
	switch {
	case isLoss(err):
		return lossType(err)
	case conflict != nil && conflict.Mode == redislock.ModeForeign:
		return typeForeign
	case conflict != nil && conflict.Mode == redislock.ModeRestarted:
		return typeRestarted
	case conflict != nil && conflict.Left:
		return typeLeft
	case errors.Is(err, redislock.ErrUnknownOutcome):
		return typeUnknownOutcome
	case errors.Is(err, redislock.ErrNotReplicated):
		return typeNotReplicated
	case endedBy(ctx, err):
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return typeDeadline
		}
		return typeCanceled
	case errors.Is(err, redislock.ErrNotObtained):
		return refusal(err, conflict)
	}
	return serverType(err)
}

// refusal says why a lock was certainly not obtained.
func refusal(err error, conflict *redislock.ConflictError) string {
	switch {
	case errors.Is(err, redislock.ErrWaitOver):
		return typeWaitOver
	case conflict != nil:
		return typeConflict
	}
	return typeTooLate
}

// serverType says what is wrong with a server, or with the way to it.
func serverType(err error) string {
	if errors.Is(err, redis.ErrClosed) {
		return typeClosed
	}
	if answer, ok := errors.AsType[redis.Error](err); ok {
		return codeOf(answer)
	}
	if broken, ok := errors.AsType[net.Error](err); ok {
		if broken.Timeout() {
			return typeTimeout
		}
		return typeConnection
	}
	switch {
	case errors.Is(err, redis.ErrPoolTimeout), errors.Is(err, redis.ErrPoolExhausted):
		return typeTimeout
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return typeConnection
	}
	return typeOther
}

// serverCodes are the first words of server errors that are told apart.
var serverCodes = map[string]bool{
	"LOADING": true, "READONLY": true, "MASTERDOWN": true, "TRYAGAIN": true, "CLUSTERDOWN": true, "BUSY": true,
	"NOREPLICAS": true, "MOVED": true, "ASK": true, "NOSCRIPT": true, "CROSSSLOT": true, "NOPERM": true,
	"NOAUTH": true, "WRONGPASS": true, "OOM": true, "MISCONF": true, "WRONGTYPE": true, "UNBLOCKED": true,
}

// codeOf is the first word of what a server has answered, or ERR for every word that is not listed, so that their
// number is bounded.
func codeOf(answer redis.Error) string {
	if code, _, _ := strings.Cut(answer.Error(), " "); serverCodes[code] {
		return code
	}
	return "ERR"
}

// endedBy reports whether the error says that the caller's context has ended.
func endedBy(ctx context.Context, err error) bool {
	return ctx.Err() != nil && errors.Is(err, context.Cause(ctx))
}

// isServers reports whether an error of this type is the server's: neither a conflict, nor the caller's doing.
func isServers(ctx context.Context, err error, kind string) bool {
	switch kind {
	case typeConflict, typeLeft, typeForeign, typeRestarted, typeWaitOver, typeCanceled, typeDeadline, typeClosed,
		typeBroken, typeNotHeld, typeUnconfirmed:
		return false
	case typeUnknownOutcome:
		return !endedBy(ctx, err)
	case typeOther:
		return !isPanic(err)
	}
	return true
}

// isPanic reports whether an Obtain has ended because a RetryStrategy or a hook has panicked. Its error is the only one
// that wraps no other.
func isPanic(err error) bool {
	_, wrapsMany := err.(interface{ Unwrap() []error })
	return errors.Unwrap(err) == nil && !wrapsMany
}
