package survey

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/pace"
	"github.com/seed-14de3678/redislock/internal/slot"
)

// A walk goes through the keys of one server.
type walk struct {
	*survey
	one          *redis.Client
	cursor       uint64
	loaded       bool // the server knows the script
	ended, texts share
	lag          lag
	open         []*suspect // which are asked about
	proved       []string   // keys to inspect
}

const (
	// mostOpen is how many keys may be asked about when more names are asked for.
	mostOpen = 280
	// patience is how many round trips go by at most before keys are inspected that are fewer than a full group.
	patience = 10
)

// scan goes through the keys of one server. Each round trip has the next SCAN, and the next question about each key that
// was found before.
func (s *survey) scan(ctx context.Context, one *redis.Client) error {
	w := &walk{survey: s, one: one}
	isOver := false
	for rounds := 0; !isOver || len(w.open) > 0; rounds++ {
		var err error
		if isOver, err = w.round(ctx, isOver); err != nil {
			return err
		}
		if len(w.proved) >= inspectCount || rounds%patience == 0 {
			if err := w.tell(ctx); err != nil {
				return err
			}
		}
		if !pace.Sleep(ctx, w.lag.next()) {
			return ctx.Err()
		}
	}
	return w.tell(ctx)
}

// tell has what was proved inspected.
func (w *walk) tell(ctx context.Context) error {
	keys := w.proved
	w.proved = nil
	return w.report(ctx, keys)
}

func (w *walk) round(ctx context.Context, wasOver bool) (isOver bool, err error) {
	pipe := w.one.Pipeline()
	var scan *redis.ScanCmd
	if !wasOver && len(w.open) <= mostOpen {
		scan = pipe.Scan(ctx, w.cursor, w.match, w.count)
	}
	answers := make([]redis.Cmder, len(w.open))
	for i, one := range w.open {
		answers[i] = w.ask(ctx, pipe, one)
	}
	size, begun := pipe.Len(), time.Now()
	_, _ = pipe.Exec(ctx) // each answer has its own error
	w.lag.took(time.Since(begun), size)
	asked := w.open
	w.open = nil
	for i, one := range asked {
		if err := w.learn(ctx, one, answers[i]); err != nil {
			return false, err
		}
		w.sort(one)
	}
	if scan == nil {
		return wasOver, nil
	}
	names, cursor, err := scan.Result()
	if err != nil {
		return false, fmt.Errorf("scan: %w", err)
	}
	w.cursor = cursor
	w.take(names)
	w.progress(len(names))
	return cursor == 0, nil
}

// sort puts a key where it belongs by what is known about it.
func (w *walk) sort(one *suspect) {
	switch {
	case one.foreign && w.query.Foreign && !w.seen[one.key]:
		if w.strange++; w.strange <= mostForeign {
			w.proved = append(w.proved, one.key)
		} else {
			w.notes.Foreign++
		}
	case one.out:
	case !one.hasForm():
		w.open = append(w.open, one)
	default:
		w.proved = append(w.proved, one.key)
		if one.why == underFence && !hasForm(one.start, false) {
			w.notes.OwnTokens++
		}
	}
}

// take looks at the names that a SCAN has found.
func (w *walk) take(names []string) {
	at := map[string]*suspect{}
	for _, name := range names {
		key, why := w.about(name)
		switch {
		case why == beside:
			w.proved = append(w.proved, key)
		case why == nothing:
		case at[key] == nil:
			at[key] = &suspect{key: key, name: w.conn.Prefix + key, why: why}
			w.open = append(w.open, at[key])
		default:
			at[key].why = max(at[key].why, why)
		}
	}
	for place, one := range w.open[len(w.open)-len(at):] {
		w.plan(one, place)
	}
}

// progress counts what a SCAN has looked at: with a pattern it does not say that.
func (s *survey) progress(names int) {
	if s.match != "" {
		names = max(names, matchCount)
	}
	s.notes.Keys += int64(names)
	if s.all > 0 {
		s.notes.Keys = min(s.notes.Keys, s.all)
	}
	if s.query.Progress != nil {
		s.query.Progress(s.notes.Keys, s.all)
	}
}

// A reason is why a key may be a lock. The greater one counts.
type reason int

const (
	nothing    reason = iota // it is no lock, or none that is looked for
	unknown                  // it exists
	underFence               // it was given fencing numbers
	prefixed                 // its name begins with the prefix
	beside                   // somebody stands in line for it, or has an intent
)

var isBeside = map[string]reason{"line": beside, "intent": beside, "fence": underFence}

// about returns the key that the name of a key is about, as callers name it, and why it may be a lock: nothing, if it is not looked
// for.
func (s *survey) about(name string) (key string, why reason) {
	why = unknown
	if purpose, of, ok := slot.Apart(name); ok && isBeside[purpose] != nothing {
		name, why = of, isBeside[purpose]
	}
	key, ok := strings.CutPrefix(name, s.conn.Prefix)
	if !ok || key == "" || s.query.Pattern != "" && !glob(s.query.Pattern).match(key) {
		return "", nothing
	}
	if s.conn.Prefix != "" {
		why = max(why, prefixed)
	}
	return key, why
}
