package work

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/fencing"
	"github.com/seed-14de3678/redislock/proof/torture/history"
)

// sentinels are the errors whose names stand in a history.
var sentinels = []struct {
	name string
	err  error
}{
	{"ErrNotObtained", redislock.ErrNotObtained},
	{"ErrWaitOver", redislock.ErrWaitOver},
	{"ErrBroken", redislock.ErrBroken},
	{"ErrLockNotHeld", redislock.ErrLockNotHeld},
	{"ErrLockLost", redislock.ErrLockLost},
	{"ErrUnknownOutcome", redislock.ErrUnknownOutcome},
	{"ErrNotReplicated", redislock.ErrNotReplicated},
	{"ErrCrossSlot", redislock.ErrCrossSlot},
	{"ErrInvalid", redislock.ErrInvalid},
	{"ErrUnsupported", errors.ErrUnsupported},
	{"ErrStale", fencing.ErrStale},
	{"ErrForeign", fencing.ErrForeign},
	{"ErrClosed", redis.ErrClosed},
	{"Canceled", context.Canceled},
	{"DeadlineExceeded", context.DeadlineExceeded},
}

// describe puts into a Return how the operation has ended. The ctx is that of the operation.
func describe(ctx context.Context, e *history.Event, err error) {
	e.Outcome = outcome(e.Action, err)
	if err == nil {
		return
	}
	e.Error = err.Error()
	for _, s := range sentinels {
		if errors.Is(err, s.err) {
			e.Is = append(e.Is, s.name)
		}
	}
	if cause := context.Cause(ctx); cause != nil && errors.Is(err, cause) {
		e.Is = append(e.Is, "Cause")
	}
	if conflict, ok := errors.AsType[*redislock.ConflictError](err); ok {
		e.Held, e.InWay = string(conflict.Mode), conflict.Key
		if conflict.Left {
			e.Held += "-left"
		}
	}
}

// outcome is how an operation has ended.
func outcome(action history.Action, err error) history.Outcome {
	conflict := (*redislock.ConflictError)(nil)
	switch {
	case err == nil:
		return history.OK
	case errors.Is(err, redislock.ErrUnknownOutcome):
		return history.Unknown
	case errors.Is(err, redislock.ErrLockNotHeld), errors.Is(err, redislock.ErrLockLost):
		return history.NotHeld
	case errors.As(err, &conflict), errors.Is(err, fencing.ErrStale):
		return history.Refused
	case action == history.Release, action == history.ReleaseKeys, action == history.Leave:
		return history.Unknown // it goes on in the background
	case action == history.Enter:
		return history.Unknown // it may have been written
	}
	return history.Failed
}
