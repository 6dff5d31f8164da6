package doctor

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/rights"
	"github.com/seed-14de3678/redislock/internal/slot"
)

// batch is how many keys a SCAN goes through at once: some tenths of a millisecond.
const batch = 500

// A harvest is what the scan of the keys has found.
type harvest struct {
	err     error  // the scan could not be made
	rule    string // the right that was missing then
	walked  int64
	all     int64               // how many keys there are
	partial bool                // not all were walked
	names   map[string][]string // in Redis, by what they are: one of these, or the library of whose locks they look
	beside  map[string]bool     // lock keys with anything beside them
}

const (
	endless = "endless" // keys of ours that have no TTL
	lined   = "lined"   // lock keys with a line
	waited  = "waited"  // lock keys with a line or an intent
	foreign = "foreign" // lock keys that hold something that is no lock
)

// harvested scans the keys, once for all checks.
func (p *patient) harvested(ctx context.Context) *harvest {
	if p.keys == nil {
		p.keys = &harvest{names: map[string][]string{}, beside: map[string]bool{}}
		p.keys.err = p.scanAll(ctx, p.keys)
		p.keys.tidy(p.isScoped())
	}
	return p.keys
}

// ofKeys makes a check of what the scan has found.
func ofKeys(look func(context.Context, *patient, *harvest) []Finding) func(context.Context, *patient) []Finding {
	return func(ctx context.Context, p *patient) []Finding {
		h := p.harvested(ctx)
		if h.err != nil {
			return []Finding{notSeen(h.err, h.rule)}
		}
		return look(ctx, p, h)
	}
}

// isScoped reports whether the user has said which keys are locks.
func (p *patient) isScoped() bool { return p.conn.Prefix != "" || p.opts.pattern != "" }

// scanAll scans every primary: for the lock keys, and if those are not all keys, for what stands beside locks.
func (p *patient) scanAll(ctx context.Context, h *harvest) error {
	globs := []string{"*"}
	if p.isScoped() {
		globs = []string{rights.Escaped(p.conn.Prefix) + cmp.Or(p.opts.pattern, "*"), "redislock:*"}
	}
	for _, n := range p.primaries() {
		h.all += n.rdb.DBSize(ctx).Val() // 0 if the user may not ask
		for _, glob := range globs {
			if err := p.scan(ctx, h, n, glob); err != nil {
				return err
			}
		}
	}
	return nil
}

// scan goes through one server.
func (p *patient) scan(ctx context.Context, h *harvest, n *node, glob string) error {
	var cursor uint64
	var walked int64
	for {
		names, next, err := n.rdb.Scan(ctx, cursor, glob, batch).Result()
		if err != nil {
			h.rule = "+scan"
			return err
		}
		walked += batch
		p.screen.Flash("looking at keys: %d of %d", min(h.walked+walked, h.all), h.all)
		if err := h.look(ctx, n, names); err != nil {
			return err
		}
		if cursor = next; cursor == 0 {
			break
		}
		if most := int64(p.opts.keys); most > 0 && walked >= most {
			h.partial = true
			break
		}
	}
	h.walked = max(h.walked, walked)
	return nil
}

// look asks for the type and the TTL of some keys, and for a little of each.
func (h *harvest) look(ctx context.Context, n *node, names []string) error {
	kinds, ttls := make([]*redis.StatusCmd, len(names)), make([]*redis.DurationCmd, len(names))
	pipe := n.rdb.Pipeline()
	for i, name := range names {
		kinds[i], ttls[i] = pipe.Type(ctx, name), pipe.PTTL(ctx, name)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		h.rule = "+type +pttl"
		return err
	}
	samples, pipe := make([]*redis.Cmd, len(names)), n.rdb.Pipeline()
	for i, name := range names {
		switch kinds[i].Val() {
		case "string":
			samples[i] = pipe.Do(ctx, "getrange", name, 0, sampleBytes-1)
		case "hash":
			samples[i] = pipe.Do(ctx, "hrandfield", name, 1)
		case "zset":
			samples[i] = pipe.Do(ctx, "zrange", name, -1, -1)
		}
	}
	_, err := pipe.Exec(ctx)
	if err != nil && !errors.Is(err, redis.Nil) && !redis.HasErrorPrefix(err, "WRONGTYPE") { // one that has changed meanwhile
		h.rule = "+getrange +hrandfield +zrange"
		return err
	}
	for i, name := range names {
		h.take(name, kinds[i].Val(), sampleOf(samples[i]), ttls[i].Val() == -1)
	}
	return nil
}

// sampleOf is the text that was read of a key.
func sampleOf(cmd *redis.Cmd) string {
	if cmd == nil {
		return ""
	}
	if all, err := cmd.StringSlice(); err == nil {
		return strings.Join(all, "")
	}
	text, _ := cmd.Text()
	return text
}

// take enters one key.
func (h *harvest) take(name, kind, sample string, isEndless bool) {
	purpose, key, isBeside := slot.Apart(name)
	if isBeside {
		h.beside[key] = true
	}
	if purpose == "line" {
		h.enter(lined, key)
	}
	if purpose == "line" || purpose == "intent" {
		h.enter(waited, key)
	}
	switch library := libraryOf(kind, sample); {
	case isEndless && (isBeside || library == ours):
		h.enter(endless, name)
	case isBeside:
	case library != redisson && (isEndless || kind != "string" && kind != "zset" && kind != "none"):
		h.enter(foreign, name)
	case library != "" && library != ours:
		h.enter(library, name)
	}
}

func (h *harvest) enter(what, name string) { h.names[what] = append(h.names[what], name) }

// tidy leaves out what was met twice. If nobody has said which keys are locks, a lock of another library, or a foreign key, matters
// only where this one has stored something beside a key of that name.
func (h *harvest) tidy(scoped bool) {
	for what, names := range h.names {
		if !scoped && (what == foreign || meets[what] != "") {
			names = slices.DeleteFunc(names, func(name string) bool { return !h.beside[name] })
		}
		slices.Sort(names)
		h.names[what] = slices.Compact(names)
	}
}
