package redislock_test

import (
	"errors"
	"fmt"
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
	"zadd", "zcard", "zrange", "zrem", "zremrangebyscore", "zrevrangebyscore", "zscore",
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
		err := g.run(t, &pass{client: client, admin: g.admin, prefix: "app:" + op.name + ":", lease: 9 * time.Second}, op, "")
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
			p := &pass{client: client, admin: g.admin, prefix: "app:" + command + ":" + op.name + ":", lease: time.Second}
			err := g.run(t, p, op, command)
			if err == nil || op.refused && errors.Is(err, redislock.ErrNotObtained) {
				continue
			}
			failed++
			wantClear(t, op.name+" without "+command, err, p.prefix)
		}
		eventually(t, polled, fmt.Sprintf("without %s no key is left without a TTL, first: %q", command, g.immortal(t)),
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
