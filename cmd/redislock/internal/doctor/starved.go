package doctor

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/survey"
	"github.com/seed-14de3678/redislock/internal/count"
	"github.com/seed-14de3678/redislock/internal/pace"
	"github.com/seed-14de3678/redislock/internal/slot"
)

const (
	glances  = 5                     // at each line, to see whether others hold its key at all
	glanceAt = 10 * time.Millisecond // one after the other
)

// An overlooked line is one whose key somebody takes who does not see the line.
//
// The proof is the order: this library gives a key to the first in its line and to nobody else, and drops that waiter from the
// line if it is gone. So whoever holds a key after somebody else, while the same waiter stood first all the time, has not asked
// for the line.
type overlooked struct {
	key, line string
	first     string // the id of the waiter that stood first when the key was last looked at
	token     string // of who held the key then
	strangers bool   // somebody has held it under a token that this library has not made
	passed    int    // how often the key has changed hands while the same waiter stood first
}

// waiter begins the entry of somebody who waits, see lua/include/entry.lua.
var waiter = regexp.MustCompile(`^([^|]{22})\|\d+\|[wr][ps]`)

// see takes what was read, in this order: who stands first, what the key holds, and who stands first after that. It says nothing if
// the key is free, left or read, or if the line moved meanwhile.
func (o *overlooked) see(before []string, value string, after []string) {
	token, _, _ := strings.Cut(value, "|")
	id := idOf(before)
	if id == "" || id != idOf(after) || token == "" {
		return
	}
	if id == o.first && token != o.token {
		o.passed++
	}
	o.first, o.token = id, token
	o.strangers = o.strangers || len(token) != survey.TimedLength || !survey.IsMade(token)
}

// idOf is the id of the waiter whose entry that is; empty if nobody stands there.
func idOf(entries []string) string {
	if len(entries) == 0 {
		return ""
	}
	if m := waiter.FindStringSubmatch(entries[0]); m != nil {
		return m[1]
	}
	return ""
}

// glance looks at lines and their keys once.
func (p *patient) glance(ctx context.Context, lines []*overlooked) error {
	for part := range slices.Chunk(lines, together) {
		answers, err := p.conn.RDB.Pipelined(ctx, func(pipe redis.Pipeliner) error {
			for _, o := range part {
				pipe.ZRange(ctx, o.line, 0, 0)
				pipe.GetRange(ctx, o.key, 0, sampleBytes-1)
				pipe.ZRange(ctx, o.line, 0, 0)
			}
			return nil
		})
		if err != nil && !errors.Is(err, redis.Nil) && !redis.HasErrorPrefix(err, "WRONGTYPE") { // a key that is read
			return err
		}
		first := func(i int) []string { return answers[i].(*redis.StringSliceCmd).Val() }
		for i, o := range part {
			o.see(first(3*i), answers[3*i+1].(*redis.StringCmd).Val(), first(3*i+2))
		}
	}
	return nil
}

// overlook watches lines whose keys others hold, for as long as the user says.
func (p *patient) overlook(ctx context.Context, lines []*overlooked) ([]*overlooked, error) {
	end := time.Now().Add(p.opts.watch)
	for n := 1; len(lines) > 0 && (n <= glances || time.Now().Before(end)); n++ {
		if err := p.glance(ctx, lines); err != nil {
			return nil, err
		}
		if n == glances {
			lines = slices.DeleteFunc(lines, func(o *overlooked) bool { return !o.strangers })
		}
		p.screen.Flash("watching %s", count.Of(len(lines), "line"))
		if !pace.Sleep(ctx, glanceAt) {
			return nil, context.Cause(ctx)
		}
	}
	return lines, nil
}

// checkStarved looks for keys that change hands while the same waiter stands first in their line.
func checkStarved(ctx context.Context, p *patient, h *harvest) []Finding {
	var lines []*overlooked
	for _, key := range h.names[lined] {
		if strings.HasPrefix(key, p.conn.Prefix) {
			lines = append(lines, &overlooked{key: key, line: slot.Beside("line", key)})
		}
	}
	watched, err := p.overlook(ctx, lines)
	if err != nil {
		return []Finding{notSeen(err, "+zrange +getrange")}
	}
	passed := 0
	var where []string
	for _, o := range watched {
		passed += o.passed
		if o.passed > 0 {
			where = append(where, o.key)
		}
	}
	span := cli.Duration(p.opts.watch)
	switch {
	case passed > 0:
		return []Finding{bad(Warning, fmt.Sprintf("others take the key, and the first in line stays there: %s in %s, %s", count.Of(passed, "time"), span, some(where)),
			"Programs that know nothing of the line poll for the same key: those on bsm/redislock, on another library, on a script of their own. They have it whenever it is free, and their release tells nobody. So those in line are hardly ever served.",
			"leave Options.Queue out, so that all of them poll, until the last of the other programs is gone (docs/from-bsm-redislock.md); or give those another name for the lock.")}
	case len(watched) > 0:
		return []Finding{h.scanned(fmt.Sprintf("no key was taken past its line in %s; %s held under a token that this library has not made (--watch looks for longer)",
			span, count.Of(len(watched), "key")))}
	}
	return []Finding{h.scanned("nobody takes a key past those who stand in line")}
}
