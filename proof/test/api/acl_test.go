package api_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/world"
)

// without forbids a command until it is called again. The list says that ZPOPMIN goes with those that put back what it
// has taken.
func without(t *testing.T, g *world.Guarded, command string) (again func()) {
	t.Helper()
	commands := []string{command}
	if slices.Contains([]string{"zadd", "pttl", "pexpire"}, command) {
		commands = append(commands, "zpopmin")
	}
	for _, name := range commands {
		g.Set(t, "-"+name)
	}
	return func() {
		for _, name := range commands {
			g.Set(t, "+"+name)
		}
	}
}

// runWithout prepares and does one operation, with one command forbidden in between.
func runWithout(t *testing.T, g *world.Guarded, p *pass, op operation, forbidden string) error {
	t.Helper()
	p.cleanup = t.Cleanup
	if op.prepare != nil {
		check.NoError(t, op.prepare(t.Context(), p))
	}
	if forbidden != "" {
		check.NoError(t, g.Admin.ScriptFlush(t.Context()).Err())
		defer without(t, g, forbidden)()
	}
	return op.do(t.Context(), p)
}

// operations are all of them.
func operations() []operation {
	return slices.Concat(obtains(), others(), handing(), slices.Collect(maps.Values(leaving())))
}

// before are the commands of the list as it was before there were ZPOPMIN and UNLINK, word for word.
const before = `+eval +evalsha
	+del +exists +get +hdel +hget +hkeys +hlen +hset +info +mget +msetnx +pexpire +pexpireat +publish
	+pttl +set +subscribe +time +type +wait
	+zadd +zcard +zrange +zrem +zremrangebyscore +zrevrangebyscore +zscore`

// The commands of the list are enough for all operations, and so are those of the list as it was before.
func TestACLIsSufficient(t *testing.T) {
	t.Parallel()
	for name, rules := range map[string]string{"list": "", "list of before": before} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := world.NewGuarded(t, "app:")
			if rules != "" {
				g.Set(t, "-@all")
			}
			for _, rule := range strings.Fields(rules) {
				g.Set(t, rule)
			}
			wantSufficient(t, g, rules != "")
		})
	}
}

// wantDone checks that a user can do certain things.
// The names of its keys have a part as given.
func wantDone(t *testing.T, g *world.Guarded, client *redislock.Client, ops []operation, part string) {
	t.Helper()
	for _, op := range ops {
		p := newPass(g, client, op.name+part)
		p.lease = 9 * time.Second
		err := runWithout(t, g, p, op, "")
		if op.refused && errors.Is(err, redislock.ErrNotObtained) {
			err = nil
		}
		if err == nil && op.after != nil {
			err = op.after(p, t.Context())
		}
		if err != nil {
			t.Errorf("%s: %v", op.name, err)
		}
	}
	if found := g.WithoutTTL(t); len(found) > 0 {
		t.Errorf("keys without a TTL: %q", found)
	}
}

// refused are the commands that a server has refused, or that one. go-redis introduces itself with CLIENT, and does without.
func refused(t *testing.T, g *world.Guarded, command string) (found []string) {
	t.Helper()
	for _, entry := range g.Admin.Do(t.Context(), "acl", "log").Val().([]any) {
		if text := fmt.Sprint(entry); !strings.Contains(text, "client|") && (command == "" || strings.Contains(text, "object:"+command+" ")) {
			found = append(found, text)
		}
	}
	return found
}

// wantSufficient checks that a user can do everything. One that may not run ZPOPMIN and UNLINK is only slower.
func wantSufficient(t *testing.T, g *world.Guarded, slower bool) {
	t.Helper()
	client := redislock.New(g.RDB)
	t.Cleanup(client.Close)
	wantDone(t, g, client, operations(), "")
	if !slower { // what stands beside these keys has names of other forms
		wantDone(t, g, client, operations(), "{tag}")
		wantDone(t, g, client, operations(), "}{")
	}
	for _, text := range refused(t, g, "") {
		if known := slower && (strings.Contains(text, "object:zcount ") || strings.Contains(text, "object:zpopmin ") || strings.Contains(text, "object:unlink ")); !known {
			t.Errorf("refused: %s", text)
		}
	}
	_, err := client.Obtain(t.Context(), []string{"elsewhere"}, world.Long, nil)
	wantClear(t, "obtain a forbidden key", err, "elsewhere")
}

// Who asks for no fencing numbers needs no right to hashes, and hands over to those who do.
func TestACLWithoutNumbers(t *testing.T) {
	t.Parallel()
	g := world.NewGuarded(t, "app:")
	for _, command := range []string{"hdel", "hget", "hlen", "hset", "zcard"} {
		g.Set(t, "-"+command)
	}
	client := redislock.New(g.RDB)
	t.Cleanup(client.Close)
	var ops []operation
	for _, op := range operations() {
		if !strings.Contains(op.name, "fenced") && !strings.Contains(op.name, "number") {
			ops = append(ops, op)
		}
	}
	a := []string{"a"}
	ops = append(ops, operation{
		name: "release to one that wants a number", do: release, after: (*pass).served,
		prepare: all(holding(a, nil), waiting(a, nil, redislock.Options{Fenced: true})),
	})
	wantDone(t, g, client, ops, "")
}

// Each command of the list is needed: without it something ends with an error, and that is a clear
// one. DESIGN section 11: an ACL without pexpire, keys without a TTL for ever.
func TestACLIsMinimal(t *testing.T) {
	t.Parallel()
	g := world.NewGuarded(t, "app:")
	client := redislock.New(g.RDB)
	t.Cleanup(client.Close)
	for _, command := range world.ACLCommands {
		if command == "zcount" || command == "zpopmin" || command == "unlink" || command == "hdel" {
			continue // they are for speed, and drop what ends by itself: see TestACLIsSufficient
		}
		if command == "subscribe" {
			client = redislock.New(g.RDB) // one that has not done so yet
			t.Cleanup(client.Close)
		}
		failed := 0
		for _, op := range operations() {
			p := newPass(g, client, op.name+" without "+command)
			p.lease = time.Second
			err := runWithout(t, g, p, op, command)
			if err == nil || op.refused && errors.Is(err, redislock.ErrNotObtained) {
				continue
			}
			failed++
			wantClear(t, op.name+" without "+command, err, p.prefix)
		}
		check.Eventually(t, world.Polled, fmt.Sprintf("without %s no key is left without a TTL, first: %q", command, g.WithoutTTL(t)),
			func() bool { return len(g.WithoutTTL(t)) == 0 })
		check.NoError(t, g.Admin.FlushDB(t.Context()).Err())
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
