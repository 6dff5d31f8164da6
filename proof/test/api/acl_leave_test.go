package api_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/world"
)

func leave(ctx context.Context, p *pass) error { return p.lock.Leave(ctx, time.Minute) }

// leaving are the releases that leave keys taken, by what is left.
func leaving() map[string]operation {
	a, bc := []string{"a"}, []string{"b", "c"}
	ops := map[string]operation{
		"write":  {prepare: holding(a, nil)},
		"set":    {prepare: holding(bc, nil)},
		"read":   {prepare: holding(nil, bc)},
		"mixed":  {prepare: holding(a, bc)},
		"fenced": {prepare: holdingFenced("a", "b")},
		"read by others": {prepare: func(ctx context.Context, p *pass) error {
			return errors.Join(holding(nil, a)(ctx, p), p.other(ctx, true))
		}},
		"wanted": {prepare: all(holding(a, nil), waiting(a, nil, redislock.Options{}))},
		"held at least": {
			prepare: func(ctx context.Context, p *pass) (err error) {
				p.lock, err = p.client.Obtain(ctx, p.keys("a"), world.Long, &redislock.Options{HoldAtLeast: time.Minute})
				return err
			},
			do: release,
		},
	}
	for name, op := range ops {
		if op.name = "leave " + name; op.do == nil {
			op.do = leave
		}
		ops[name] = op
	}
	return ops
}

// What a Release needs that leaves keys, beside EVAL and EVALSHA: docs/rights.md says so.
func TestACLLeave(t *testing.T) {
	t.Parallel()
	wantNeeds(t, leaving(), map[string][]string{
		"write":          {"exists", "mget", "pexpire", "set", "time"},
		"set":            {"exists", "mget", "pexpire", "set", "time"},
		"read":           {"del", "exists", "mget", "pexpireat", "time", "zadd", "zrange"},
		"mixed":          {"del", "exists", "mget", "pexpire", "pexpireat", "set", "time", "zadd", "zrange"},
		"fenced":         {"exists", "mget", "pexpire", "set", "time"},
		"read by others": {"exists", "mget", "pexpireat", "time", "zadd", "zrange", "zrem", "zscore"},
		"wanted":         {"exists", "mget", "pexpire", "set", "time"},
		"held at least":  {"exists", "mget", "pexpire", "set", "time"},
	})
}

// What a Break needs, likewise.
func TestACLBreak(t *testing.T) {
	t.Parallel()
	a, bc := []string{"a"}, []string{"b", "c"}
	breaks := func(ctx context.Context, p *pass) error {
		_, err := p.client.Break(ctx, p.keys("a", "b", "c"), "for a test")
		return err
	}
	guard := []string{"pexpire", "pttl", "zadd", "zremrangebyscore", "zscore"}
	needs := func(more ...string) []string {
		return slices.Sorted(slices.Values(slices.Concat(guard, []string{"exists", "mget", "time", "type"}, more)))
	}
	wantNeeds(t, map[string]operation{
		"free":   {name: "break free", do: breaks},
		"write":  {name: "break write", prepare: holding(append(a, bc...), nil), do: breaks},
		"mixed":  {name: "break mixed", prepare: holding(a, bc), do: breaks},
		"fenced": {name: "break fenced", prepare: holdingFenced("a", "b"), do: breaks},
	}, map[string][]string{
		"free": needs(), "write": slices.DeleteFunc(needs("del"), func(c string) bool { return c == "type" }),
		"mixed": needs("del", "zrange"), "fenced": needs("del"),
	})
}

// wantNeeds checks which commands each operation needs. If one of these is missing the error names the keys, and whatever
// was done until then, each key has a TTL.
func wantNeeds(t *testing.T, ops map[string]operation, need map[string][]string) {
	t.Helper()
	g := world.NewGuarded(t, "app:")
	client := redislock.New(g.RDB)
	t.Cleanup(client.Close)
	got := make(map[string][]string)
	for name, op := range ops {
		for _, command := range world.ACLCommands {
			p := newPass(g, client, op.name+" without "+command)
			err := runWithout(t, g, p, op, command)
			if found := g.WithoutTTL(t); len(found) > 0 {
				t.Errorf("%s without %s: keys without a TTL: %q", op.name, command, found)
			}
			if err == nil || slices.Contains([]string{"eval", "evalsha"}, command) {
				continue
			}
			wantClear(t, op.name+" without "+command, err, p.prefix)
			got[name] = append(got[name], command)
			// The lock counts as held until its lease is over, and can be left as soon as the user may do it.
			if err := op.do(t.Context(), p); err != nil && !errors.Is(err, redislock.ErrLockNotHeld) {
				t.Errorf("%s: got error %v, though the user may do it now", op.name, err)
			}
		}
		slices.Sort(got[name])
	}
	if diff := cmp.Diff(need, got); diff != "" {
		t.Errorf("what each needs (-want +got):\n%s", diff)
	}
}
