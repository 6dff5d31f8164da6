package redislock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/internal/shown"
	"github.com/seed-14de3678/redislock/internal/wire"
)

var (
	// ErrNotObtained says that the lock is certainly not ours: somebody else holds a key of the set, and
	// then the error is a [*ConflictError]; or the answer came too late to be of use. If the context ended
	// meanwhile, the error matches the cause of the context, too.
	ErrNotObtained = errors.New("not obtained")
	// ErrWaitOver says that the time of [Options].Wait was over. The error is an [ErrNotObtained] as well if
	// somebody else holds a key, and an [ErrUnknownOutcome] if Redis had not answered by then.
	ErrWaitOver = errors.New("the time of Options.Wait is over")
	// ErrBroken says that the lock was taken from its holder by [Client.Break]. The error is an [ErrLockLost]
	// or an [ErrLockNotHeld], too, and its text has the reason. Only a Client with [WithBreakNotices] knows it.
	ErrBroken = errors.New("lock broken")
	// ErrLockNotHeld says that a key of the set is no longer ours: it has expired, or was removed.
	ErrLockNotHeld = errors.New("lock not held")
	// ErrLockLost is the cause with which the context of a lost lock is cancelled.
	ErrLockLost = errors.New("lock lost")
	// ErrUnknownOutcome says that no answer came, so nobody knows whether the request was executed. The error
	// matches what kept the answer away, too. What a failed Obtain may have locked is freed in the background.
	ErrUnknownOutcome = errors.New("outcome not known")
	// ErrNotReplicated says that a lock or a lease does not count, because fewer replicas have it than
	// [WithReplicas] asks for. The error is an [ErrNotObtained] or an [ErrUnknownOutcome], too.
	ErrNotReplicated = errors.New("not replicated")
	// ErrCrossSlot says that the keys of the set are not in one slot of a Cluster, or may be on several shards
	// of a Ring. Hash tags bring keys together: "{order:7}:stock".
	ErrCrossSlot = errors.New("keys are not in one slot")
	// ErrInvalid says that an argument is refused, and that nothing was done. The error is an [*InvalidError].
	ErrInvalid = errors.New("invalid argument")
)

// An InvalidError says which argument of a call is invalid, and why. It is an [ErrInvalid]. An InvalidError
// without a Reason matches every other one of the same Argument, by [errors.Is].
type InvalidError struct {
	Argument string // "keys", "ttl", "token", "metadata", "caller", "reason", or the name of an option
	Reason   string
}

func (e *InvalidError) Error() string { return "invalid " + e.Argument + ": " + e.Reason }

// Is reports whether target is [ErrInvalid], or an InvalidError of the same Argument without a Reason.
func (e *InvalidError) Is(target error) bool {
	other, ok := target.(*InvalidError)
	return target == ErrInvalid || ok && other.Argument == e.Argument && other.Reason == ""
}

func invalid(argument, format string, args ...any) error {
	return &InvalidError{argument, fmt.Sprintf(format, args...)}
}

// A Mode says how a key is held, or why it cannot be had.
type Mode string

const (
	// ModeFree means that nobody holds the key.
	ModeFree Mode = "free"
	// ModeWrite means that the key has one holder.
	ModeWrite Mode = "write"
	// ModeRead means that the key has one or more readers.
	ModeRead Mode = "read"
	// ModeIntent means that a writer waits for the key, and that no new reader may have it.
	ModeIntent Mode = "intent"
	// ModeQueue means that others stand in line for the key.
	ModeQueue Mode = "queue"
	// ModeRestarted means that the server has been up for less than the time of [WithMinUptime].
	ModeRestarted Mode = "restarted"
	// ModeForeign means that the key holds something that is not a lock. It is never overwritten. A string or a
	// sorted set with a TTL can look like a lock, and then counts as one: docs/format.md says how that is told.
	ModeForeign Mode = "foreign"
)

// A ConflictError says what stood in the way of an Obtain or an Upgrade. It is an [ErrNotObtained].
type ConflictError struct {
	Key      string // the first key of the set that could not be had
	Mode     Mode   // how it is held: write, read, intent, queue or foreign; or restarted
	Metadata string // of the holder, of the reader with the last lease to end, or of the waiter
	Caller   string // the id of [WithCaller] that is stored beside the metadata; empty if there is none
	Type     string // the Redis type of a foreign key, else empty

	// TTL is the remaining lease of the holder, the remaining life of the waiter, or the time until the
	// server has been up for long enough. It is negative if the key has no TTL, and so stays until it is deleted.
	TTL  time.Duration
	Left bool // the holder has left the key, which is kept until the TTL is over: see [Lock.Leave]

	// Own says that the Obtain runs under the lock that holds the key: its context is derived from that lock's
	// [Client.With] or [Lock.Context]. Such an Obtain would wait for its own lock, so it does not wait: see package
	// reentrant.
	Own bool
}

// Error names the key, its holder and the remaining time.
func (e *ConflictError) Error() string {
	var b strings.Builder
	name := who(e.Metadata, e.Caller)
	fmt.Fprintf(&b, "redislock: %q ", e.Key)
	switch e.Mode {
	case ModeForeign:
		fmt.Fprintf(&b, "is foreign: it holds a %s that is no lock", e.Type)
	case ModeIntent:
		b.WriteString("is kept for a waiting writer")
		if name != "" {
			b.WriteString(", " + name)
		}
	case ModeQueue:
		b.WriteString("is kept for those who stand in line")
		if name != "" {
			b.WriteString(", before all for " + name)
		}
	case ModeRestarted:
		b.WriteString("is on a server that has restarted")
	default:
		is, by := "is", "by"
		if e.Left {
			is, by = "is kept", "after the work of"
		}
		fmt.Fprintf(&b, "%s %s-locked %s %s", is, e.Mode, by, cmp.Or(name, "a holder that says nothing of itself"))
	}
	if e.TTL < 0 {
		b.WriteString(", without a TTL")
	} else {
		b.WriteString(", " + shown.Duration(e.TTL))
		if e.Left {
			b.WriteString(" to go")
		} else {
			b.WriteString(" left")
		}
	}
	if e.Own {
		b.WriteString("; the caller holds it itself, and would wait for its own lock: see package reentrant")
	}
	return b.String()
}

// Is reports that every ConflictError is an [ErrNotObtained].
func (e *ConflictError) Is(target error) bool { return target == ErrNotObtained }

// newConflict makes the error of a conflict that a script reports, with the key's name as callers know it,
// which begins behind the prefix that is cut off.
func newConflict(c *proto.Conflict, cut int) *ConflictError {
	e := &ConflictError{Key: c.Key[cut:], Mode: Mode(c.Mode), Left: c.Left, TTL: c.TTL, Type: c.Type}
	e.Caller, e.Metadata = proto.DecodeDetail(c.Stored)
	return e
}

// callerField stands before a caller's id in text for people.
const callerField = "caller="

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

// legible shortens metadata for an error, and quotes it if it is not plain text.
func legible(metadata string) string {
	const most = 200
	end := ""
	if len(metadata) > most {
		metadata, end = metadata[:most], "…"
	}
	if !printable(metadata) {
		metadata = strconv.Quote(metadata)
	}
	return metadata + end
}

// printable reports whether a text can stand in an error message or a terminal as it is.
func printable(s string) bool {
	if !utf8.ValidString(s) {
		return false
	}
	for _, r := range s {
		if !strconv.IsPrint(r) {
			return false
		}
	}
	return true
}

// A missingError is an [ErrLockNotHeld] that names the keys of a set which are no longer ours, and an [ErrBroken] if
// somebody has broken them.
type missingError struct {
	keys   []string
	broken error  // ErrBroken; nil if nothing is known of that
	reason string // as the caller of Break gave it
}

func (e *missingError) Error() string {
	if e.broken == nil {
		return ErrLockNotHeld.Error() + ": lost " + e.what()
	}
	return ErrLockNotHeld.Error() + ": " + e.what()
}

func (e *missingError) Unwrap() []error {
	if e.broken == nil {
		return []error{ErrLockNotHeld} // code that walks the errors may not expect a nil
	}
	return []error{ErrLockNotHeld, e.broken}
}

// what names the keys and says what has become of them.
func (e *missingError) what() string {
	switch {
	case e.broken == nil:
		return listed(e.keys)
	case e.reason == "":
		return listed(e.keys) + " was broken"
	}
	return listed(e.keys) + " was broken: " + legible(e.reason)
}

// A lossError is the [ErrLockLost] of a lock for a reason, and says neither twice.
type lossError struct {
	set keySet
	why error
}

func (e *lossError) Error() string {
	what := fmt.Sprintf("%s: %s", e.set, e.why)
	if missing, ok := errors.AsType[*missingError](e.why); ok {
		what = missing.what()
	}
	return fmt.Sprintf("redislock: %s: %s", ErrLockLost, what)
}

func (e *lossError) Unwrap() []error { return []error{ErrLockLost, e.why} }

// listed names keys.
func listed(keys []string) string {
	const most = 8
	more := ""
	if len(keys) > most {
		more = fmt.Sprintf(" and %d more", len(keys)-most)
		keys = keys[:most]
	}
	quoted := make([]string, len(keys))
	for i, key := range keys {
		quoted[i] = fmt.Sprintf("%q", key)
	}
	return strings.Join(quoted, ", ") + more
}

// An endedError ends an Obtain whatever its strategy says.
type endedError struct{ error }

func (e *endedError) Unwrap() error { return e.error }

// interrupted is the error of an operation if its context ended while it was under way.
func interrupted(ctx context.Context, operation string, set keySet) error {
	return fmt.Errorf("redislock: %s %s: %w: %w", operation, set, ErrUnknownOutcome, context.Cause(ctx))
}

// about is the error of an operation on a set; nil without one.
func about(operation string, set keySet, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("redislock: %s %s: %w", operation, set, err)
}

// notAsked is the error of an operation whose context had ended before anything was sent.
func notAsked(ctx context.Context, operation string, set keySet) error {
	return about(operation, set, fmt.Errorf("not asked: %w", context.Cause(ctx)))
}

// unsupported says so if the answer means that there are no locks on this server.
func unsupported(answer redis.Error, err error) error {
	why := "this server runs no scripts, without which there are no locks"
	switch {
	case wire.IsTooOld(answer):
		why = "this server is too old, Redis 6.2 or later is needed"
	case !wire.ForbidsScripts(answer):
		return err
	case redis.HasErrorPrefix(answer, "NOPERM"):
		why = "this user of Redis may not run scripts, without which there are no locks"
	}
	return fmt.Errorf("%w: %s: %w", errors.ErrUnsupported, why, err)
}

// foreignFence is the error of a script that found something else where the fencing numbers of a key would stand; nil
// for any other error. The script names the key by its place. The error has the whole name in Redis, with the prefix,
// because that is where somebody has to look.
func foreignFence(r *proto.Run, answer redis.Error) error {
	name, kind, is := r.ForeignFence(answer.Error())
	if !is {
		return nil
	}
	return wire.Reworded(fmt.Sprintf("%q holds a %s that is no record of fencing numbers", name, kind), answer)
}
