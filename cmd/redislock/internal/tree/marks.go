package tree

import (
	"cmp"
	"context"
	"crypto/rand"
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/internal/slot"
)

//go:embed marks.lua
var marksScript string

// marked is how many keys are asked about at once.
const marked = 50

// A marker finds out who has the same token as somebody else. Inspect does not tell tokens, because whoever has one can
// release the lock. Without a connection it knows nothing.
type marker struct {
	conn   *cli.Conn
	secret string
	names  map[string]string // of tokens under which somebody holds a key and waits, by their marks
	latest map[string]marks  // by key
}

// marks tell the tokens of one key apart.
type marks struct {
	holders []string
	line    map[int64]string // by place, as Waiter.Since
}

// ofIntent is the place of a writer with an intent, which has none.
var ofIntent = time.Time{}.UnixMicro()

func newMarker(conn *cli.Conn) *marker {
	return &marker{conn: conn, secret: rand.Text(), names: map[string]string{}, latest: map[string]marks{}}
}

// identify returns the states with a caller for everybody without a caller's id whose token holds a key of these and waits for
// one: who works under one token is one owner. If tokens may not be compared the states stay as they are.
func (k *marker) identify(ctx context.Context, states []redislock.KeyState) []redislock.KeyState {
	if k.conn == nil {
		return states
	}
	for part := range slices.Chunk(waited(states), marked) {
		if k.read(ctx, part) != nil {
			return states
		}
	}
	holds, waits := map[string]bool{}, map[string]bool{}
	for _, s := range states {
		for _, mark := range k.latest[s.Key].holders {
			holds[mark] = mark != ""
		}
		for _, mark := range k.latest[s.Key].line {
			waits[mark] = true
		}
	}
	name := func(caller *string, mark string) {
		if *caller == "" && holds[mark] && waits[mark] {
			k.names[mark] = cmp.Or(k.names[mark], fmt.Sprintf("token %d", len(k.names)+1))
			*caller = k.names[mark]
		}
	}
	named := slices.Clone(states)
	for i := range named {
		s, m := &named[i], k.latest[named[i].Key]
		s.Holders, s.Line = slices.Clone(s.Holders), slices.Clone(s.Line)
		for h := range s.Holders {
			if len(m.holders) == len(s.Holders) { // else they have changed meanwhile
				name(&s.Holders[h].Caller, m.holders[h])
			}
		}
		for w := range s.Line {
			name(&s.Line[w].Caller, m.line[s.Line[w].Since.UnixMicro()])
		}
		if s.Intent != nil {
			intent := *s.Intent
			name(&intent.Caller, m.line[ofIntent])
			s.Intent = &intent
		}
	}
	return named
}

// waited returns the keys that somebody waits for: circles lead through these alone.
func waited(states []redislock.KeyState) []redislock.KeyState {
	return slices.DeleteFunc(slices.Clone(states), func(s redislock.KeyState) bool { return !isWaited(s) })
}

func isWaited(s redislock.KeyState) bool { return len(s.Line) > 0 || s.Intent != nil }

// read asks for the marks of some keys.
func (k *marker) read(ctx context.Context, states []redislock.KeyState) error {
	pipe := k.conn.RDB.Pipeline()
	answers := make([]*redis.Cmd, len(states))
	for i, s := range states {
		name := k.conn.Prefix + s.Key
		answers[i] = pipe.Eval(ctx, marksScript, []string{name, slot.Beside("line", name), slot.Beside("intent", name)}, k.secret)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return err
	}
	for i, s := range states {
		reply, err := answers[i].Slice()
		if err != nil {
			return err
		}
		k.latest[s.Key] = marksOf(reply)
	}
	return nil
}

// marksOf reads a reply of the script.
func marksOf(reply []any) marks {
	text := func(i int) string { return fmt.Sprint(reply[i]) }
	count, _ := strconv.Atoi(text(1))
	m := marks{line: map[int64]string{ofIntent: text(0)}}
	for i := range count {
		m.holders = append(m.holders, text(2+i))
	}
	for i := 2 + count; i+1 < len(reply); i += 2 {
		place, _ := strconv.ParseFloat(text(i), 64)
		m.line[int64(place)] = text(i + 1)
	}
	return m
}

// hasToken reports whether a request has the token of a holder of a key, if that is known.
func (m *model) hasToken(q, state int) (has, known bool) {
	r, mark := &m.requests[q], ""
	for _, s := range r.stands {
		mark = cmp.Or(mark, m.tokens[m.states[s.state].Key].line[r.since.UnixMicro()])
	}
	holders := m.tokens[m.states[state].Key].holders
	known = mark != "" && len(holders) > 0
	return known && slices.Contains(holders, mark), known
}
