package redislock

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/slot"
)

// Mode is how a key is held, or why it cannot be had.
type Mode string

const (
	// ModeFree means that nobody holds the key.
	ModeFree Mode = "free"
	// ModeWrite means one holder.
	ModeWrite Mode = "write"
	// ModeRead means one or more readers.
	ModeRead Mode = "read"
	// ModeIntent means that no new reader may have the key, because a writer waits for it.
	ModeIntent Mode = "intent"
	// ModeQueue means that others stand in line for the key.
	ModeQueue Mode = "queue"
	// ModeRestarted means that the server has not been up for [Options].MinUptime.
	ModeRestarted Mode = "restarted"
	// ModeForeign means that the key holds something that is no lock. It is never overwritten.
	ModeForeign Mode = "foreign"
)

// A ConflictError says what stood in the way of an Obtain or an Upgrade. It is an
// [ErrNotObtained].
type ConflictError struct {
	Key      string        // the first key of the set that could not be had
	Mode     Mode          // how it is held: write, read, intent, queue or foreign; or restarted
	Metadata string        // of the holder, of the reader whose lease ends last, or of whoever waits
	Type     string        // the Redis type of a foreign key, else empty
	TTL      time.Duration // remaining lease, life of the waiter, or time that the server has to be up; negative: the key has no TTL and stays until somebody deletes it
}

// Error says it the way whoever is on call wants to read it.
func (e *ConflictError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "redislock: %q ", e.Key)
	switch e.Mode {
	case ModeForeign:
		fmt.Fprintf(&b, "holds a %s that is no lock", e.Type)
	case ModeIntent:
		b.WriteString("is kept for a waiting writer")
		if e.Metadata != "" {
			b.WriteString(", " + legible(e.Metadata))
		}
	case ModeQueue:
		b.WriteString("is kept for those who stand in line")
		if e.Metadata != "" {
			b.WriteString(", before all for " + legible(e.Metadata))
		}
	case ModeRestarted:
		b.WriteString("is on a server that has restarted")
	default:
		fmt.Fprintf(&b, "is %s-locked", e.Mode)
		if e.Metadata != "" {
			b.WriteString(" by " + legible(e.Metadata))
		}
	}
	if e.TTL < 0 {
		b.WriteString(", without a TTL")
	} else {
		fmt.Fprintf(&b, ", %s left", round(e.TTL))
	}
	return b.String()
}

// Is makes every conflict an ErrNotObtained.
func (e *ConflictError) Is(target error) bool { return target == ErrNotObtained }

// decodeConflict decodes what follows the 0 of a refusal.
func decodeConflict(keys []string, d *decoder) (*ConflictError, error) {
	index, mode, ttl, detail := d.number(), Mode(d.text()), d.number(), d.text()
	if d.bad || index < 1 || index > int64(len(keys)) {
		return nil, errors.New("unexpected refusal")
	}
	e := &ConflictError{Key: keys[index-1], Mode: mode, TTL: clock.FromMillis(ttl)}
	if mode == ModeForeign {
		e.Type = detail
	} else {
		e.Metadata = detail
	}
	return e, nil
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

// round shows a duration with as many digits as somebody reads.
func round(d time.Duration) time.Duration {
	switch {
	case d >= time.Second:
		return d.Round(100 * time.Millisecond)
	case d >= time.Millisecond:
		return d.Round(time.Millisecond)
	}
	return d
}

// interrupted is the error of an operation whose context ended while it was under way.
func interrupted(ctx context.Context, operation string, set keySet) error {
	return fmt.Errorf("redislock: %s %s: %w: %w", operation, set, ErrUnknownOutcome, context.Cause(ctx))
}

// listed names the keys that were lost.
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
	return "lost " + strings.Join(quoted, ", ") + more
}

// errNotSent is the outcome of a call whose caller left before it was sent.
var errNotSent = errors.New("redislock: not sent")

// An endedError ends an Obtain whatever its strategy says.
type endedError struct{ error }

func (e *endedError) Unwrap() error { return e.error }

// An outcome says what a failed call may have done.
type outcome int

const (
	final   outcome = iota // the server refused it, and would again
	passing                // nothing was done, but soon it may work
	unknown                // it may have been executed, now or later
)

// passingReplies are the first words of server errors that end by themselves: the command was
// not executed, and may be once the server has loaded, failed over or finished its script.
var passingReplies = map[string]bool{
	"LOADING": true, "READONLY": true, "MASTERDOWN": true, "TRYAGAIN": true, "CLUSTERDOWN": true,
	"BUSY": true, "NOREPLICAS": true, "MOVED": true, "ASK": true, "NOSCRIPT": true,
}

// classify sorts the error of a call. A server's error is sorted by its first word, because
// servers append the place in the script to those raised inside one.
func classify(err error) outcome {
	if answer, ok := errors.AsType[redis.Error](err); ok {
		text := legibleAnswer(answer)
		first, _, _ := strings.Cut(text, " ")
		switch {
		case passingReplies[first],
			strings.HasPrefix(text, "ERR max number of clients reached"),
			strings.HasPrefix(text, "ERR Script killed by user"):
			return passing
		case first == "UNBLOCKED", movedInScript.MatchString(text):
			return unknown
		}
		return final
	}
	switch {
	case errors.Is(err, redis.ErrClosed), errors.Is(err, errNotSent):
		return final
	case errors.Is(err, redis.ErrPoolTimeout), errors.Is(err, redis.ErrPoolExhausted):
		return passing
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return passing // there was no connection to send it over
	}
	return unknown
}

// mayCome reports whether a request that has ended so may be executed later.
func mayCome(err error) bool {
	switch classify(err) {
	case passing:
		return false
	case unknown:
		return true
	}
	answer, ok := errors.AsType[redis.Error](err)
	if !ok {
		return false // it was not sent
	}
	text := answer.Error()
	return !refusedWhole(err) && !withinScriptError.MatchString(text) && !afterScriptError.MatchString(text)
}

// fault turns the error of a call into the one that callers see: with a sentinel where there is
// one for the fact, and without what only the authors of a script can read.
func fault(operation string, set keySet, c *call) error {
	kind, err := classify(c.err), c.err
	if answer, ok := errors.AsType[redis.Error](err); ok {
		err = newServerError(answer)
		if foreign := foreignFence(c, answer); foreign != nil {
			err = foreign
		}
		if strings.HasPrefix(answer.Error(), "CROSSSLOT") {
			return fmt.Errorf("redislock: %s %s: %w (%w)", operation, set, ErrCrossSlot, err)
		}
	}
	if c.cut != nil {
		err = fmt.Errorf("%w: %w", c.cut, err)
	}
	executed := c.ack.never != nil && operation != "obtain" // which gives back what it has done
	if kind == unknown || kind == passing && c.isUnsure() || executed {
		return fmt.Errorf("redislock: %s %s: %w: %w", operation, set, ErrUnknownOutcome, err)
	}
	return fmt.Errorf("redislock: %s %s: %w", operation, set, err)
}

// movedInScript is what the server of a Cluster says when a slot leaves it while a script runs: what
// the script did before stays done.
var movedInScript = regexp.MustCompile(`ttempted to access a (non local key|slot not served)`)

// foreignFence is the error of a script that has found something else where the fencing numbers of a
// key would stand; nil for any other. The script names the key by its place.
func foreignFence(c *call, answer redis.Error) error {
	var index int
	var kind string
	if n, _ := fmt.Sscanf(answer.Error(), "FOREIGNFENCE %d %s", &index, &kind); n != 2 || index < 1 || index > len(c.keys) {
		return nil
	}
	name := slot.Beside("fence", c.keys[index-1])
	return &serverError{fmt.Sprintf("%q holds a %s that is no record of fencing numbers", name, kind), answer}
}

// serverError shows an error of the server without the place in the script at which it arose, and
// without the arguments that a server repeats if it does not know a command: one is the token.
type serverError struct {
	text   string
	answer redis.Error
}

func newServerError(answer redis.Error) error {
	return &serverError{text: legibleAnswer(answer), answer: answer}
}

// legibly is an error without what only the authors of a script can read.
func legibly(err error) error {
	if answer, ok := errors.AsType[redis.Error](err); ok {
		return newServerError(answer)
	}
	return err
}

func (e *serverError) Error() string { return e.text }

func (e *serverError) Unwrap() error { return e.answer }

// What servers add to an error that arises inside a script. Redis 7 and later and Valkey up to 9.0 append
// the script and the line, Valkey 9.1 the line alone. Redis 6 puts them in front of the error, behind
// words of its own. An error of Lua itself has the line in its text, too.
const lineOfScript = `@?\b(?:user_script|enable_strict_lua|err_handler_def): ?\d+: `

var (
	beforeScriptError = regexp.MustCompile(`^(?:ERR )?(?:Error running script(?: \(call to \w+\):|(?: \w+)?,) *)?(?:` + lineOfScript + `)*`)
	withinScriptError = regexp.MustCompile(lineOfScript)
	afterScriptError  = regexp.MustCompile(` script:(?: \w*,)? on \S*?: ?-?\d*\.?\s*$`)
	startsWithCode    = regexp.MustCompile(`^[A-Z]{2,} `)
)

// legibleAnswer is the text of a server's error as [serverError] shows it. What a server puts in front of
// an error has the code ERR, and hides the error's own if it has one.
func legibleAnswer(answer redis.Error) string {
	text, _, _ := strings.Cut(answer.Error(), ", with args beginning with")
	text = afterScriptError.ReplaceAllString(text, "")
	before := beforeScriptError.FindString(text)
	if before != "" && before != "ERR " {
		text = strings.TrimPrefix(strings.TrimSpace(text[len(before):]), "-")
		if !startsWithCode.MatchString(text) {
			text = "ERR " + text
		}
	}
	return withinScriptError.ReplaceAllString(text, "")
}
