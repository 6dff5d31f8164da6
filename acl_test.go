package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// aclCommands are the commands that the user of a Client of a single server has to be allowed. HELLO
// and AUTH always are.
var aclCommands = []string{
	"eval", "evalsha",
	"del", "exists", "get", "hdel", "hget", "hkeys", "hlen", "hset", "info", "mget", "msetnx",
	"pexpire", "pexpireat", "pttl", "publish", "set", "spublish", "time", "type",
	"zadd", "zcard", "zrange", "zrem", "zremrangebyscore", "zscore",
	"subscribe", "wait",
}

func TestACLCommandsAreThoseOfTheScripts(t *testing.T) {
	t.Parallel()
	files := must[[]string](t)(filepath.Glob("*.lua"))
	if len(files) == 0 {
		t.Fatal("no scripts")
	}
	called := map[string]bool{"eval": true, "evalsha": true, "subscribe": true, "wait": true}
	for _, file := range files {
		text := string(must[[]byte](t)(os.ReadFile(file)))
		calls := regexp.MustCompile(`redis\.p?call\(`).FindAllString(text, -1)
		names := regexp.MustCompile(`redis\.p?call\('([a-z]+)'`).FindAllStringSubmatch(text, -1)
		if len(calls) != len(names) {
			t.Errorf("%s: %d of %d commands are named where they are called", file, len(names), len(calls))
		}
		for _, name := range names {
			called[name[1]] = true
		}
	}
	var got []string
	for name := range called {
		got = append(got, name)
	}
	slices.Sort(got)
	want := slices.Sorted(slices.Values(aclCommands))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the scripts call other commands than the list has (-list +scripts):\n%s", diff)
	}
}

// guarded is a server with a user that may do what the list says, on keys with a prefix.
type guarded struct {
	admin *redis.Client
	rdb   *redis.Client // of the user
}

func newGuarded(t *testing.T, prefix string) *guarded {
	t.Helper()
	server := redistest.Start(t, redistest.Redis)
	g := &guarded{admin: server.Client(t)}
	args := []any{"acl", "setuser", "app", "reset", "on", ">secret", "~" + prefix + "*", "~redislock:*", "&redislock:*", "-@all"}
	for _, command := range aclCommands {
		args = append(args, "+"+command)
	}
	noError(t, g.admin.Do(t.Context(), args...).Err())
	g.rdb = server.Client(t, func(o *redis.Options) {
		o.Username, o.Password, o.MaxRetries = "app", "secret", -1
	})
	return g
}

// set allows ("+get") or forbids ("-get") a command.
func (g *guarded) set(t *testing.T, rule string) {
	t.Helper()
	noError(t, g.admin.Do(t.Context(), "acl", "setuser", "app", rule).Err())
}

// immortal are the keys without a TTL.
func (g *guarded) immortal(t *testing.T) []string {
	t.Helper()
	const script = `local found = {}
		for _, key in ipairs(redis.call('keys', '*')) do
			if redis.call('pttl', key) == -1 then found[#found + 1] = key end;
		end
		return found`
	return must[[]string](t)(g.admin.Eval(t.Context(), script, nil).StringSlice())
}

// An operation is done by the user, after what goes before it was done with every command allowed.
type operation struct {
	name    string
	prepare func(ctx context.Context, p *pass) error
	do      func(ctx context.Context, p *pass) error
	refused bool // it is to end with ErrNotObtained
}

// A pass is one operation on keys of its own.
type pass struct {
	client *redislock.Client
	admin  *redis.Client
	prefix string
	lock   *redislock.Lock
}

func (p *pass) keys(names ...string) []string {
	keys := make([]string, len(names))
	for i, name := range names {
		keys[i] = p.prefix + name
	}
	return keys
}

// mixed obtains the lock of the pass.
func (p *pass) mixed(write, read []string) func(context.Context) error {
	return func(ctx context.Context) (err error) {
		opt := &redislock.Options{Token: p.prefix + "token", Metadata: "pass"}
		p.lock, err = p.client.ObtainMixed(ctx, p.keys(write...), p.keys(read...), long, opt)
		return err
	}
}

// other has another owner read or write "a".
func (p *pass) other(ctx context.Context, read bool) error {
	client := redislock.New(p.admin)
	obtain := client.Obtain
	if read {
		obtain = client.ObtainRead
	}
	_, err := obtain(ctx, p.keys("a"), long, nil)
	return err
}

func holding(write, read []string) func(context.Context, *pass) error {
	return func(ctx context.Context, p *pass) error { return p.mixed(write, read)(ctx) }
}

// obtains are the operations that may leave keys behind.
func obtains() []operation {
	a, bc := []string{"a"}, []string{"b", "c"}
	return []operation{
		{name: "obtain", do: holding(a, nil)},
		{name: "obtain set", do: holding(bc, nil)},
		{name: "read", do: holding(nil, bc)},
		{name: "mixed", do: holding(a, bc)},
		{name: "override", prepare: holding(a, nil), do: holding([]string{"a", "b"}, nil)},
		{name: "override to read", prepare: holding(a, bc), do: holding(bc, a)},
		{
			name:    "join",
			prepare: func(ctx context.Context, p *pass) error { return p.other(ctx, true) },
			do:      holding(nil, a),
		},
		{
			name: "intent", refused: true,
			prepare: func(ctx context.Context, p *pass) error { return p.other(ctx, true) },
			do: func(ctx context.Context, p *pass) error {
				_, err := p.client.Obtain(ctx, p.keys("a", "b"), long, &redislock.Options{
					Intent: true, RetryStrategy: redislock.LimitRetry(redislock.LinearBackoff(time.Millisecond), 1),
				})
				return err
			},
		},
		{
			name: "queue", refused: true,
			prepare: func(ctx context.Context, p *pass) error { return p.other(ctx, false) },
			do: func(ctx context.Context, p *pass) error {
				ctx, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
				defer cancel()
				_, err := p.client.Obtain(ctx, p.keys("a", "b"), long, &redislock.Options{Queue: true})
				return err
			},
		},
		{
			name: "fenced",
			do: func(ctx context.Context, p *pass) error {
				lock, err := p.client.Obtain(ctx, p.keys("a", "b"), long, &redislock.Options{Fenced: true})
				if err != nil {
					return err
				}
				return errors.Join(lock.RaiseFence(ctx, lock.Fence()+1), lock.Release(ctx))
			},
		},
		{
			name: "replicas", refused: true, // there are none
			do: func(ctx context.Context, p *pass) error {
				_, err := p.client.Obtain(ctx, p.keys("a"), 40*time.Millisecond, &redislock.Options{Replicas: 1})
				return err
			},
		},
		{
			name: "uptime",
			do: func(ctx context.Context, p *pass) error {
				_, err := p.client.Obtain(ctx, p.keys("a"), long, &redislock.Options{
					MinUptime: time.Nanosecond, RetryStrategy: redislock.LinearBackoff(time.Second),
				})
				return err
			},
		},
		{
			name: "fenced after many",
			prepare: func(ctx context.Context, p *pass) error {
				if err := p.other(ctx, true); err != nil {
					return err
				}
				fence := "redislock:fence:{" + p.prefix + "a}"
				for i := range 100 {
					if err := p.admin.HSet(ctx, fence, fmt.Sprint("dead", i), i).Err(); err != nil {
						return err
					}
				}
				return p.admin.Expire(ctx, fence, long).Err()
			},
			do: func(ctx context.Context, p *pass) error {
				_, err := p.client.ObtainRead(ctx, p.keys("a"), long, &redislock.Options{Fenced: true})
				return err
			},
		},
		{
			name: "with", // the watchdog renews it
			do: func(ctx context.Context, p *pass) error {
				start := time.Now()
				return p.client.With(ctx, p.keys("a", "b"), 60*time.Millisecond, nil, func(ctx context.Context) error {
					select {
					case <-ctx.Done():
						return fmt.Errorf("%v: cancelled: %w", p.keys("a", "b"), context.Cause(ctx))
					case <-time.After(90*time.Millisecond - time.Since(start)):
						return nil
					}
				})
			},
		},
	}
}

// others are the operations on a lock that is held.
func others() []operation {
	a, bc := []string{"a"}, []string{"b", "c"}
	lock := map[string]func(context.Context, *redislock.Lock) error{
		"refresh":   func(ctx context.Context, l *redislock.Lock) error { return l.Refresh(ctx, long) },
		"ttl":       func(ctx context.Context, l *redislock.Lock) error { _, err := l.TTL(ctx); return err },
		"downgrade": func(ctx context.Context, l *redislock.Lock) error { return l.Downgrade(ctx) },
		"upgrade":   func(ctx context.Context, l *redislock.Lock) error { return l.Upgrade(ctx) },
		"release":   func(ctx context.Context, l *redislock.Lock) error { return l.Release(ctx) },
	}
	var all []operation
	for name, do := range lock {
		do := func(ctx context.Context, p *pass) error { return do(ctx, p.lock) }
		all = append(all,
			operation{name: name + " one", prepare: holding(a, nil), do: do},
			operation{name: name + " set", prepare: holding(bc, nil), do: do},
			operation{name: name + " read", prepare: holding(nil, bc), do: do},
			operation{name: name + " mixed", prepare: holding(a, bc), do: do})
	}
	inspect := func(ctx context.Context, p *pass) error {
		_, err := p.client.Inspect(ctx, p.keys("a", "b")...)
		return err
	}
	return append(all, operation{name: "inspect", prepare: holding(a, bc), do: inspect})
}

// run prepares and does one operation, with one command forbidden in between.
func (g *guarded) run(t *testing.T, p *pass, op operation, forbidden string) error {
	t.Helper()
	if op.prepare != nil {
		noError(t, op.prepare(t.Context(), p))
	}
	if forbidden != "" {
		noError(t, g.admin.ScriptFlush(t.Context()).Err())
		g.set(t, "-"+forbidden)
		defer g.set(t, "+"+forbidden)
	}
	return op.do(t.Context(), p)
}

// The list is enough for everything.
func TestACLIsSufficient(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, "app:")
	client := redislock.New(g.rdb)
	t.Cleanup(client.Close)
	for _, op := range append(obtains(), others()...) {
		err := g.run(t, &pass{client: client, admin: g.admin, prefix: "app:" + op.name + ":"}, op, "")
		if op.refused && errors.Is(err, redislock.ErrNotObtained) {
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", op.name, err)
		}
	}
	if found := g.immortal(t); len(found) > 0 {
		t.Errorf("keys without a TTL: %q", found)
	}
	if denied := g.admin.Do(t.Context(), "acl", "log").Val().([]any); len(denied) > 0 {
		// go-redis introduces itself with CLIENT, and does without.
		for _, entry := range denied {
			if text := fmt.Sprint(entry); !strings.Contains(text, "client|") {
				t.Errorf("refused: %s", text)
			}
		}
	}
	_, err := client.Obtain(t.Context(), []string{"elsewhere"}, long, nil)
	wantClear(t, "obtain a forbidden key", err, "elsewhere")
}

// Each command of the list is needed: without it something ends with an error, and that is a clear
// one. DESIGN section 11: an ACL without pexpire, keys without a TTL for ever.
func TestACLIsMinimal(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, "app:")
	client := redislock.New(g.rdb)
	t.Cleanup(client.Close)
	for _, command := range aclCommands {
		if command == "spublish" {
			continue // on a Cluster
		}
		if command == "subscribe" {
			client = redislock.New(g.rdb) // one that has not done so yet
			t.Cleanup(client.Close)
		}
		failed := 0
		for _, op := range append(obtains(), others()...) {
			p := &pass{client: client, admin: g.admin, prefix: "app:" + command + ":" + op.name + ":"}
			err := g.run(t, p, op, command)
			if err == nil || op.refused && errors.Is(err, redislock.ErrNotObtained) {
				continue
			}
			failed++
			wantClear(t, op.name+" without "+command, err, p.prefix)
		}
		eventually(t, time.Second, fmt.Sprintf("without %s no key is left without a TTL, first: %q", command, g.immortal(t)),
			func() bool { return len(g.immortal(t)) == 0 })
		noError(t, g.admin.FlushDB(t.Context()).Err())
		if failed == 0 {
			t.Errorf("nothing failed without %s", command)
		}
	}
}

// wantClear checks an error that is about what the user may not do.
func wantClear(t *testing.T, what string, err error, key string) {
	t.Helper()
	switch {
	case err == nil:
		t.Errorf("%s: got no error", what)
	case errors.Is(err, redislock.ErrNotObtained), errors.Is(err, redislock.ErrUnknownOutcome):
		t.Errorf("%s: got error %v, want one about the permission", what, err)
	case !strings.Contains(err.Error(), key), strings.Contains(err.Error(), "user_script"):
		t.Errorf("%s: got error %v, want one that names the key and not the script", what, err)
	}
}

// mortal is a client that can obtain but then can no more release, as if its process had died.
type mortal struct{ redis.Scripter }

func (m mortal) Eval(ctx context.Context, script string, keys []string, args ...any) *redis.Cmd {
	if len(args) == 1 {
		cmd := redis.NewCmd(ctx)
		cmd.SetErr(io.EOF)
		return cmd
	}
	return m.Scripter.Eval(ctx, script, keys, args...)
}

func (m mortal) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	if len(args) == 1 {
		return m.Eval(ctx, "", keys, args...)
	}
	return m.Scripter.EvalSha(ctx, sha, keys, args...)
}

// Every key has a TTL from its first instant, also if a script fails half-way and nobody is left to
// clear up. DESIGN section 11: an ACL without pexpire, keys without a TTL for ever.
func TestACLHoleLeavesNoImmortalKey(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, "app:")
	client := redislock.New(mortal{g.rdb})
	t.Cleanup(client.Close)
	for _, command := range aclCommands {
		for _, op := range obtains() {
			if op.name == "with" {
				continue // its lease ends within the test
			}
			p := &pass{client: client, admin: g.admin, prefix: "app:" + command + ":" + op.name + ":"}
			_ = g.run(t, p, op, command)
			if found := g.immortal(t); len(found) > 0 {
				t.Errorf("%s without %s: keys without a TTL: %q", op.name, command, found)
			}
			noError(t, g.admin.FlushDB(t.Context()).Err())
		}
	}
}
