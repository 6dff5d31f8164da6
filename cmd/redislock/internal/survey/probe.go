package survey

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

//go:embed reader.lua
var readerLua string

var readerScript = redis.NewScript(readerLua)

// A suspect is a key that may be a lock.
type suspect struct {
	key, name string // for callers, and in Redis
	why       reason

	kind       string
	start      string // of its value, or of a reader
	foreign    bool   // it holds what is no lock, as it seems
	withSource bool   // the server may not know the script yet
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

// probe returns those of the suspects that have the form of a lock. What each step finds out leaves fewer for the
// next one: keys with a TTL, strings and sorted sets, values that begin like ours.
func (s *survey) probe(ctx context.Context, all []*suspect) (keys []string, err error) {
	for _, step := range []func(context.Context, []*suspect) ([]*suspect, error){s.withTTL, s.typed, s.started, s.short} {
		if all, err = step(ctx, all); err != nil {
			return nil, err
		}
	}
	for _, one := range all {
		keys = append(keys, one.key)
		if one.why == underFence && !hasForm(one.start, false) {
			s.notes.OwnTokens++
		}
	}
	return keys, nil
}

// withTTL returns the keys that have a TTL, as every lock has.
func (s *survey) withTTL(ctx context.Context, all []*suspect) ([]*suspect, error) {
	return ask(ctx, s, all, func(p redis.Pipeliner, one *suspect) *redis.DurationCmd {
		return p.PTTL(ctx, one.name)
	}, func(one *suspect, ttl time.Duration) bool {
		one.foreign = ttl == -1
		return ttl > 0
	})
}

// typed returns the strings and the sorted sets.
func (s *survey) typed(ctx context.Context, all []*suspect) ([]*suspect, error) {
	return ask(ctx, s, all, func(p redis.Pipeliner, one *suspect) *redis.StatusCmd {
		return p.Type(ctx, one.name)
	}, func(one *suspect, kind string) bool {
		one.kind = kind
		isFit := kind == "string" || kind == "zset"
		one.foreign = !isFit && kind != "none"
		return isFit
	})
}

// started reads the first bytes, and returns what begins like a lock.
func (s *survey) started(ctx context.Context, all []*suspect) ([]*suspect, error) {
	var texts, sets []*suspect
	for _, one := range all {
		if one.kind == "zset" {
			sets = append(sets, one)
		} else {
			texts = append(texts, one)
		}
	}
	begins := func(one *suspect, start string) bool {
		one.start = start
		isFit := hasForm(start, one.ownTokens())
		one.foreign = !isFit && one.ownTokens() // else the token may be one of the caller's own
		return isFit
	}
	texts, err := ask(ctx, s, texts, func(p redis.Pipeliner, one *suspect) *redis.StringCmd {
		return p.GetRange(ctx, one.name, 0, int64(one.bytes())-1)
	}, begins)
	if err != nil {
		return nil, err
	}
	for i, one := range sets {
		one.withSource = i == 0 // the others go to the same server, most likely
	}
	sets, err = ask(ctx, s, sets, func(p redis.Pipeliner, one *suspect) textCmd {
		run := readerScript.EvalSha
		if one.withSource {
			run = readerScript.Eval
		}
		return textCmd{run(ctx, p, []string{one.name}, one.bytes())}
	}, begins)
	return append(texts, sets...), err
}

// short returns all but the strings that are longer than any value of a lock.
func (s *survey) short(ctx context.Context, all []*suspect) (short []*suspect, err error) {
	var open []*suspect
	for _, one := range all {
		if one.kind == "string" && strings.Contains(one.start, "|") {
			open = append(open, one)
		} else {
			short = append(short, one)
		}
	}
	open, err = ask(ctx, s, open, func(p redis.Pipeliner, one *suspect) *redis.IntCmd {
		return p.StrLen(ctx, one.name)
	}, func(_ *suspect, length int64) bool { return length <= mostValue })
	return append(short, open...), err
}

// A textCmd is a script that returns a text.
type textCmd struct{ *redis.Cmd }

func (c textCmd) Result() (string, error) { return c.Text() }

// An answerCmd is a command of a pipeline, and its answer.
type answerCmd[T any] interface {
	redis.Cmder
	Result() (T, error)
}

// ask sends one command about each of the keys, all together, and returns the keys whose answer is good. Keys that
// this user may not read are counted and left out. What has another type by now is left out, too.
func ask[T any, C answerCmd[T]](ctx context.Context, s *survey, about []*suspect,
	command func(redis.Pipeliner, *suspect) C, good func(*suspect, T) bool,
) (rest []*suspect, err error) {
	if len(about) == 0 {
		return nil, nil
	}
	pipe := s.conn.RDB.Pipeline()
	answers := make([]C, len(about))
	for i, one := range about {
		answers[i] = command(pipe, one)
	}
	_, _ = pipe.Exec(ctx) // each answer has its own error
	var again []*suspect
	for i, one := range about {
		answer, err := answers[i].Result()
		switch {
		case err == nil:
			if good(one, answer) {
				rest = append(rest, one)
			}
		case isKeyRefused(err):
			s.notes.Refused++
		case redis.HasErrorPrefix(err, "NOSCRIPT"):
			one.withSource = true
			again = append(again, one)
		case !redis.HasErrorPrefix(err, "WRONGTYPE"):
			return nil, fmt.Errorf("look at %q: %w", one.key, err)
		}
	}
	more, err := ask(ctx, s, again, command, good)
	return append(rest, more...), err
}

// isKeyRefused reports whether the user of the connection may not read one key; the other refusals are about commands.
func isKeyRefused(err error) bool {
	return redis.IsPermissionError(err) && strings.Contains(err.Error(), " to access ")
}
