package doctor

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/slot"
)

// batch is how many keys a SCAN goes through at once: some tenths of a millisecond.
const batch = 500

// A harvest is what the scan of the keys has found. Names are those in Redis.
type harvest struct {
	err     error  // the scan could not be made
	rule    string // the right that was missing then
	walked  int64
	all     int64               // how many keys there are
	partial bool                // not all were walked
	endless []string            // keys of ours that have no TTL
	lined   []string            // lock keys with a line
	waited  []string            // lock keys with a line or an intent
	beside  map[string]bool     // lock keys with anything beside them
	foreign []string            // lock keys that hold something that is no lock
	aliens  map[string][]string // lock keys that look like those of another library, by its name
}

// harvested scans the keys, once for all checks.
func (p *patient) harvested(ctx context.Context) *harvest {
	if p.keys == nil {
		p.keys = &harvest{beside: map[string]bool{}, aliens: map[string][]string{}}
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
		pattern := p.opts.pattern
		if pattern == "" {
			pattern = "*"
		}
		globs = []string{escaped(p.conn.Prefix) + pattern, "redislock:*"}
	}
	for _, n := range p.nodes {
		if n.err != nil || n.isReplica {
			continue
		}
		h.all += n.rdb.DBSize(ctx).Val() // 0 if the user may not ask
		for _, glob := range globs {
			if err := p.scan(ctx, h, n, glob); err != nil {
				return err
			}
		}
		p.channels(ctx, h, n)
	}
	return nil
}

// escaped makes a prefix fit for a pattern, in which some characters mean something.
func escaped(prefix string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(prefix)
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
	samples, pipe := make([]redis.Cmder, len(names)), n.rdb.Pipeline()
	for i, name := range names {
		switch kinds[i].Val() {
		case "string":
			samples[i] = pipe.GetRange(ctx, name, 0, sampleBytes-1)
		case "hash":
			samples[i] = pipe.HRandField(ctx, name, 1)
		case "zset":
			samples[i] = pipe.ZRange(ctx, name, -1, -1)
		}
	}
	_, err := pipe.Exec(ctx)
	if err != nil && !errors.Is(err, redis.Nil) && !strings.HasPrefix(err.Error(), "WRONGTYPE") { // one that has changed meanwhile
		h.rule = "+getrange +hrandfield +zrange"
		return err
	}
	for i, name := range names {
		h.take(name, kinds[i].Val(), sampleOf(samples[i]), ttls[i].Val() == -1)
	}
	return nil
}

// sampleOf is the text that was read of a key.
func sampleOf(cmd redis.Cmder) string {
	switch cmd := cmd.(type) {
	case *redis.StringCmd:
		return cmd.Val()
	case *redis.StringSliceCmd:
		return strings.Join(cmd.Val(), "")
	}
	return ""
}

// take enters one key.
func (h *harvest) take(name, kind, sample string, endless bool) {
	if purpose, key, ok := slot.Apart(name); ok {
		h.beside[key] = true
		if purpose == "line" {
			h.lined = append(h.lined, key)
		}
		if purpose == "line" || purpose == "intent" {
			h.waited = append(h.waited, key)
		}
		if endless {
			h.endless = append(h.endless, name)
		}
		return
	}
	switch library := libraryOf(kind, sample); {
	case library == ours && endless:
		h.endless = append(h.endless, name)
	case library != redisson && (endless || kind != "string" && kind != "zset" && kind != "none"):
		h.foreign = append(h.foreign, name)
	case library != "" && library != ours:
		h.aliens[library] = append(h.aliens[library], name)
	}
}

// channels looks for the channels on which those wait who want a lock of Redisson. That the user may not ask is no matter: the
// locks themselves are found by their keys.
func (p *patient) channels(ctx context.Context, h *harvest, n *node) {
	names, err := n.rdb.PubSubChannels(ctx, redissonChannel+"*").Result()
	if err != nil {
		return
	}
	for _, name := range names {
		key := strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(name, redissonChannel), ":{"), "}")
		if key != "" && strings.HasPrefix(key, p.conn.Prefix) {
			h.aliens[redisson] = append(h.aliens[redisson], key)
		}
	}
}

// tidy leaves out what was met twice. If nobody has said which keys are locks, a lock of another library, or a foreign key, matters
// only where this one has stored something beside a key of that name.
func (h *harvest) tidy(scoped bool) {
	for library, names := range h.aliens {
		if !scoped {
			names = slices.DeleteFunc(names, func(name string) bool { return !h.beside[name] })
		}
		slices.Sort(names)
		if names = slices.Compact(names); len(names) > 0 {
			h.aliens[library] = names
		} else {
			delete(h.aliens, library)
		}
	}
	if !scoped {
		h.foreign = slices.DeleteFunc(h.foreign, func(name string) bool { return !h.beside[name] })
	}
	for _, list := range []*[]string{&h.endless, &h.foreign, &h.lined, &h.waited} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
}
