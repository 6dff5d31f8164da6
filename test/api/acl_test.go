package api_test

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

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/world"
)

func TestACLCommandsAreThoseOfTheScripts(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	files := check.Must[[]string](t)(filepath.Glob(filepath.Join(root, "*.lua")))
	files = append(files, check.Must[[]string](t)(filepath.Glob(filepath.Join(root, "lua", "*.lua")))...)
	if len(files) == 0 {
		t.Fatal("no scripts")
	}
	called := map[string]bool{"eval": true, "evalsha": true, "subscribe": true, "wait": true}
	for _, file := range files {
		text := string(check.Must[[]byte](t)(os.ReadFile(file)))
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
	want := slices.Sorted(slices.Values(world.ACLCommands))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the scripts call other commands than the list has (-list +scripts):\n%s", diff)
	}
}

// runWithout prepares and does one operation, with one command forbidden in between.
func runWithout(t *testing.T, g *world.Guarded, p *pass, op operation, forbidden string) error {
	t.Helper()
	if op.prepare != nil {
		check.NoError(t, op.prepare(t.Context(), p))
	}
	if forbidden != "" {
		check.NoError(t, g.Admin.ScriptFlush(t.Context()).Err())
		g.Set(t, "-"+forbidden)
		defer g.Set(t, "+"+forbidden)
	}
	return op.do(t.Context(), p)
}

// The commands of the list are enough for all operations.
func TestACLIsSufficient(t *testing.T) {
	t.Parallel()
	g := world.NewGuarded(t, "app:")
	client := redislock.New(g.RDB)
	t.Cleanup(client.Close)
	for _, op := range append(obtains(), others()...) {
		err := runWithout(t, g, &pass{client: client, admin: g.Admin, prefix: "app:" + op.name + ":", lease: 9 * time.Second}, op, "")
		if op.refused && errors.Is(err, redislock.ErrNotObtained) {
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", op.name, err)
		}
	}
	if found := g.WithoutTTL(t); len(found) > 0 {
		t.Errorf("keys without a TTL: %q", found)
	}
	if denied := g.Admin.Do(t.Context(), "acl", "log").Val().([]any); len(denied) > 0 {
		// go-redis introduces itself with CLIENT, and does without.
		for _, entry := range denied {
			if text := fmt.Sprint(entry); !strings.Contains(text, "client|") {
				t.Errorf("refused: %s", text)
			}
		}
	}
	_, err := client.Obtain(t.Context(), []string{"elsewhere"}, world.Long, nil)
	wantClear(t, "obtain a forbidden key", err, "elsewhere")
}

// Each command of the list is needed: without it something ends with an error, and that is a clear
// one. DESIGN section 11: an ACL without pexpire, keys without a TTL for ever.
func TestACLIsMinimal(t *testing.T) {
	t.Parallel()
	g := world.NewGuarded(t, "app:")
	client := redislock.New(g.RDB)
	t.Cleanup(client.Close)
	for _, command := range world.ACLCommands {
		if command == "spublish" {
			continue // on a Cluster
		}
		if command == "subscribe" {
			client = redislock.New(g.RDB) // one that has not done so yet
			t.Cleanup(client.Close)
		}
		failed := 0
		for _, op := range append(obtains(), others()...) {
			p := &pass{client: client, admin: g.Admin, prefix: "app:" + command + ":" + op.name + ":", lease: time.Second}
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
