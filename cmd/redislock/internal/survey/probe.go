package survey

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

//go:embed reader.lua
var readerLua string

var readerScript = redis.NewScript(readerLua)

// A suspect is a key that may be a lock. It is asked one question after the other until it is ruled out, or has the form
// of a lock: whether it has a TTL, as every lock has; its type; how its value begins; how long the value is.
type suspect struct {
	key, name string // for callers, and in Redis
	why       reason

	hasTTL   bool
	kind     string // its type; empty: not asked
	start    string // of its value, or of a reader
	started  bool   // that was read
	measured bool   // the value is not too long
	guessed  bool   // the value is read before the type is known
	first    bool   // the value is read before the TTL is known

	out     bool // it is no lock
	foreign bool // it holds what is no lock, as it seems
}

// ownTokens reports whether the key counts as a lock whatever its token is.
func (s *suspect) ownTokens() bool { return s.why > unknown }

// bytes is how much of the value is read.
func (s *suspect) bytes() int {
	if s.ownTokens() {
		return ownTokenBytes
	}
	return formBytes
}

// hasForm reports whether nothing is left to ask.
func (s *suspect) hasForm() bool {
	return s.hasTTL && s.started && (s.measured || s.kind == "zset" || !strings.Contains(s.start, "|"))
}

// ask adds the next question about a key to a pipeline, or asks it right away.
func (w *walk) ask(ctx context.Context, to redis.Cmdable, one *suspect) redis.Cmder {
	switch {
	case !one.hasTTL && (!one.first || one.started):
		return to.PTTL(ctx, one.name)
	case one.kind == "" && !one.guessed:
		return to.Type(ctx, one.name)
	case !one.started && one.kind == "zset":
		run := readerScript.EvalSha
		if !w.loaded { // the server may not know it yet; the next ones come behind this one
			w.loaded, run = true, readerScript.Eval
		}
		return run(ctx, to, []string{one.name}, one.bytes())
	case !one.started:
		return to.GetRange(ctx, one.name, 0, int64(one.bytes())-1)
	default:
		return to.StrLen(ctx, one.name)
	}
}

// learn takes the answer. Keys that this user may not read are counted and left out. What has become something else
// meanwhile is left out, too.
func (w *walk) learn(ctx context.Context, one *suspect, answer redis.Cmder) error {
	err := answer.Err()
	if isElsewhere(err) { // a slot of the Cluster moves
		answer = w.ask(ctx, w.conn.RDB, one)
		err = answer.Err()
	}
	switch {
	case err == nil:
		w.note(one, answer)
	case isKeyRefused(err):
		w.notes.Refused++
		one.out = true
	case redis.HasErrorPrefix(err, "NOSCRIPT"):
		w.loaded = false
	case redis.HasErrorPrefix(err, "WRONGTYPE"):
		// If the type was guessed it is asked for now.
		w.texts.count(!one.guessed, one)
		one.out, one.guessed = !one.guessed, false
	default:
		return fmt.Errorf("look at %q: %w", one.key, err)
	}
	return nil
}

// note says what an answer means.
func (w *walk) note(one *suspect, answer redis.Cmder) {
	switch answer := answer.(type) {
	case *redis.DurationCmd:
		ttl := answer.Val()
		one.hasTTL, one.out, one.foreign = ttl > 0, ttl <= 0, ttl == -1
		if !one.first {
			w.ended.count(one.hasTTL, one)
		}
	case *redis.StatusCmd:
		one.kind = answer.Val()
		one.out = one.kind != "string" && one.kind != "zset"
		one.foreign = one.out && one.kind != "none"
		w.texts.count(one.kind == "string", one)
	case *redis.IntCmd:
		one.measured, one.out = true, answer.Val() > mostValue
	case *redis.StringCmd:
		if one.guessed {
			w.texts.count(true, one)
		}
		one.begins(answer.Val())
	case *redis.Cmd:
		start, _ := answer.Text()
		one.begins(start)
	}
}

// begins is told the first bytes of the value.
func (s *suspect) begins(start string) {
	s.start, s.started = start, true
	s.out = !hasForm(start, s.ownTokens())
	s.foreign = s.out && s.ownTokens() // else the token may be one of the caller's own
}

// A share is how many of the keys that nothing is known about have passed a question lately. One that nearly all pass costs
// the server more than it spares: then the value is read without it.
type share struct{ asked, passed int }

// lately is how many answers count.
const lately = 400

func (s *share) count(passed bool, one *suspect) {
	if one.why != unknown {
		return
	}
	s.asked++
	if passed {
		s.passed++
	}
	if s.asked >= lately {
		s.asked, s.passed = s.asked/2, s.passed/2
	}
}

// above reports whether so many in a hundred have passed, if enough were asked.
func (s *share) above(percent int) bool { return s.asked >= 20 && 100*s.passed > percent*s.asked }

// The server answers PTTL and TYPE in about half of the time that it takes for GETRANGE, and for a value of the wrong type
// it counts an error. So they are left out if more than these percentages pass.
const (
	mostTTLs  = 65
	mostTexts = 80
	// sampled is how many keys of each SCAN are asked for the TTL in any case.
	sampled = 8
)

// plan says which questions about a key can be left out; place is how many stood before it in the answer of the SCAN.
func (w *walk) plan(one *suspect, place int) {
	if one.why == unknown && !w.query.Foreign {
		one.guessed = w.texts.above(mostTexts)
		one.first = place >= sampled && w.ended.above(mostTTLs)
	}
}

// isKeyRefused reports whether the user of the connection may not read one key; the other refusals are about commands.
func isKeyRefused(err error) bool {
	return redis.IsPermissionError(err) && strings.Contains(err.Error(), " to access ")
}

// isElsewhere reports whether a master of a Cluster says that another one has the key.
func isElsewhere(err error) bool {
	return err != nil && (redis.HasErrorPrefix(err, "MOVED") || redis.HasErrorPrefix(err, "ASK"))
}
