package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/tree"
	"github.com/seed-14de3678/redislock/internal/count"
)

// together is how many keys are inspected at once.
const together = 50

// scanned is a finding about all keys: of what was not seen, or fine.
func (h *harvest) scanned(text string) Finding {
	if h.partial {
		text += fmt.Sprintf(", among the first %d of %d keys (--most-keys 0 looks at all of them)", h.walked, h.all)
	}
	return fine("%s", text)
}

// checkLifetimes looks for keys of ours that have no TTL.
func checkLifetimes(_ context.Context, _ *patient, h *harvest) []Finding {
	names := h.names[endless]
	if len(names) == 0 {
		return []Finding{h.scanned("every key of a lock has a TTL")}
	}
	return []Finding{bad(Fault, fmt.Sprintf("%s of locks without a TTL: %s", count.Of(len(names), "key"), some(names)),
		"They never end, and the library takes a key without a TTL for something that is no lock: nobody can obtain it. Something else has written them, or has taken the TTL away (PERSIST, RESTORE, a copy without it).",
		"find out what has done that; then redis-cli DEL KEY, if nobody works under it.")}
}

// checkForeign looks for keys that nobody can lock.
func checkForeign(_ context.Context, p *patient, h *harvest) []Finding {
	names := h.names[foreign]
	switch {
	case len(names) == 0 && p.isScoped():
		return []Finding{h.scanned("no key there is foreign")}
	case len(names) == 0:
		return []Finding{h.scanned("no key beside which something of a lock stands is foreign (--prefix or PATTERN finds more)")}
	}
	shows := p.opts.redis.Propose("show", "KEY")
	if p.conn.Prefix != "" {
		shows += ", without the prefix in KEY,"
	}
	return []Finding{bad(Fault, fmt.Sprintf("%s foreign: %s", count.Either(len(names), "key is", "keys are"), some(names)),
		"They hold something that is no lock: a string without a TTL, or another type. The library never overwrites that, so nobody can lock these keys: every Obtain is refused (ModeForeign).",
		"give data and locks names of their own, such as lock: before those of locks. "+shows+" says what a key holds; redis-cli DEL KEY, if nobody needs that.")}
}

// some names the first of many keys.
func some(names []string) string {
	const most = 5
	var shown []string
	for _, name := range names[:min(len(names), most)] {
		shown = append(shown, cli.Text(name))
	}
	if len(names) > most {
		shown = append(shown, fmt.Sprintf("and %d more", len(names)-most))
	}
	return strings.Join(shown, ", ")
}

// inspect says who holds those of some keys in Redis that stand behind the prefix, and who waits for them.
func (p *patient) inspect(ctx context.Context, names []string) (states []redislock.KeyState, err error) {
	var keys []string
	for _, name := range names {
		if key, found := strings.CutPrefix(name, p.conn.Prefix); found && key != "" {
			keys = append(keys, key)
		}
	}
	for part := range slices.Chunk(keys, together) {
		some, err := p.client.Inspect(ctx, part)
		if err != nil {
			return nil, err
		}
		states = append(states, some...)
	}
	return states, nil
}

// checkLines looks for waiters that have not asked for 15 s.
func checkLines(ctx context.Context, p *patient, h *harvest) []Finding {
	states, err := p.inspect(ctx, h.names[lined])
	if err != nil {
		return []Finding{unknown(err.Error(), "")}
	}
	dead, lines := 0, 0
	var where []string
	for _, s := range states {
		if len(s.Line) > 0 {
			lines++
		}
		if n := cli.Gone(s); n > 0 {
			dead += n
			where = append(where, s.Key)
		}
	}
	if dead == 0 {
		return []Finding{h.scanned("no waiters that are gone in " + count.Of(lines, "line"))}
	}
	return []Finding{bad(Warning, fmt.Sprintf("%s gone in the lines of %s", count.Of(dead, "waiter"), some(where)),
		"They have not asked for 15 s or more: their processes were killed, hang, or are cut off from the server. They are passed over, so nobody waits for them for long; but where they come from, work is not done.",
		p.opts.redis.Propose("show", "KEY")+" says who they are. Look at those processes.")}
}

// checkDeadlocks looks for callers who wait for each other.
func checkDeadlocks(ctx context.Context, p *patient, h *harvest) (found []Finding) {
	states, err := p.inspect(ctx, h.names[waited])
	if err != nil {
		return []Finding{unknown(err.Error(), "")}
	}
	circles, err := tree.Circles(ctx, p.conn, p.client.Inspect, states)
	if err != nil {
		return []Finding{unknown(err.Error(), "")}
	}
	looks := p.opts.redis.Propose("tree", "--deadlocks")
	if text := tree.Told(circles, true); text != "" {
		found = append(found, bad(Fault, text,
			"Nobody in it can go on until one of them gives up, or loses its lease. Whoever comes for one of these keys waits, too.",
			looks+" says which key to break. Then obtain all keys as one set, or in one order; or bound the waits with Options.Wait."))
	}
	if text := tree.Told(circles, false); text != "" {
		found = append(found, bad(Warning, text,
			"Processes hold what others of these wait for; another goroutine may free it in a moment. A circle that stands for minutes is a deadlock.",
			"look again with "+looks+". WithCaller gives each request an id, with which it is certain, or no circle at all."))
	}
	if len(found) == 0 {
		found = append(found, h.scanned("nobody waits for somebody who waits for him"))
	}
	return found
}

// checkLibraries looks for locks of others.
func checkLibraries(_ context.Context, p *patient, h *harvest) []Finding {
	var found []Finding
	for _, library := range []string{bsm, redsync, redisson} {
		if names := h.names[library]; len(names) > 0 {
			found = append(found, bad(Warning, fmt.Sprintf("%s that looks like a lock of %s: %s", count.Of(len(names), "key"), library, some(names)), meets[library],
				"let all programs that lock the same things use one library; or give the names of one of them another prefix."))
		}
	}
	switch {
	case len(found) > 0:
		return found
	case p.isScoped():
		return []Finding{h.scanned("no key there looks like a lock of another library")}
	}
	return []Finding{h.scanned("no name is used by another library and by this one (--prefix or PATTERN finds more)")}
}

// meets is what happens where two libraries have one name.
var meets = map[string]string{
	bsm:      "To this library such a key is a write lock of somebody until its TTL ends, so the two exclude each other as long as nobody reads, queues or is fenced: bsm/redislock knows nothing of these.",
	redsync:  "To this library such a key is a write lock of somebody until its TTL ends; but redsync takes a majority of several servers for a lock, and this one asks one server.",
	redisson: "To this library a hash is no lock: every Obtain is refused (ModeForeign) while Redisson holds it, and Redisson fails on a key of ours (WRONGTYPE).",
}
