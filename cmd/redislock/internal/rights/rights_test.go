package rights

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

func TestMain(m *testing.M) { redistest.Main(m) }

const prefix = "lock:"

// A user is one that may do what docs/rights.md says, on a server of its own.
type user struct {
	admin, rdb *redis.Client
}

// newUser makes it with the words of the page.
func newUser(t *testing.T, server *redistest.Server) *user {
	t.Helper()
	u := &user{admin: server.Client(t)}
	setUser(t, u.admin, documented(t)...)
	u.rdb = server.Client(t, asUser)
	return u
}

func asUser(o *redis.Options) { o.Username, o.Password = "app", "PASSWORD" }

func setUser(t *testing.T, admin *redis.Client, rules ...string) {
	t.Helper()
	args := []any{"acl", "setuser", "app"}
	for _, rule := range rules {
		args = append(args, rule)
	}
	check.NoError(t, admin.Do(t.Context(), args...).Err())
}

// documented are the rules of docs/rights.md for a single server.
func documented(t *testing.T) []string {
	t.Helper()
	page := string(check.Must[[]byte](t)(os.ReadFile("../../../../docs/rights.md")))
	_, rules, found := strings.Cut(page, "ACL SETUSER app ")
	rules, _, ended := strings.Cut(rules, "\n\n")
	if !found || !ended {
		t.Fatal("docs/rights.md has no ACL SETUSER app")
	}
	return strings.Fields(rules)
}

func commandsOf(missing []Missing) []string {
	commands := []string{}
	for _, m := range missing {
		commands = append(commands, strings.TrimPrefix(m.Rule, "+"))
		if m.For == "" || m.Command == "" == (m.Pattern == "") || m.Rule == "" {
			commands = append(commands, "which is incomplete")
		}
	}
	return commands
}

// Of a user with all rights of the page nothing is missing, and without one of them that one is.
func TestFind(t *testing.T) {
	t.Parallel()
	redistest.EachServer(t, func(t *testing.T, kind redistest.Kind) {
		u := newUser(t, redistest.Start(t, kind))
		want := func(without string, want ...string) {
			t.Helper()
			missing := check.Must[[]Missing](t)(Find(t.Context(), u.rdb, prefix))
			if diff := cmp.Diff(append([]string{}, want...), commandsOf(missing)); diff != "" {
				t.Errorf("without %s (-want +got):\n%s", without, diff)
			}
		}
		want("nothing")
		for _, command := range world.ACLCommands {
			setUser(t, u.admin, "-"+command)
			want(command, command)
			setUser(t, u.admin, "+"+command)
		}
		for _, tt := range []struct{ rules, want string }{
			{"resetkeys ~lock:*", "~redislock:*:{lock:* ~redislock:*=lock:* ~redislock:*~{*}lock:*"},
			{"resetkeys ~lock:* ~redislock:*:{lock:* ~redislock:*=lock:*", "~redislock:*~{*}lock:*"},
			{"resetkeys ~lock:* ~redislock:*=lock:* ~redislock:*~{*}lock:*", "~redislock:*:{lock:*"},
			{"resetkeys ~redislock:*", "~lock:*"},
			{"resetkeys %R~lock:* ~redislock:*", "~lock:*"},
			{"resetkeys ~* resetchannels", "&redislock:*"},
			{"-publish", "publish &redislock:*"},
		} {
			setUser(t, u.admin, strings.Fields(tt.rules)...)
			want(tt.rules, strings.Fields(tt.want)...)
		}
	})
}

// What Find says is there by the list of the page, and by the table beside it for a Cluster.
func TestDocs(t *testing.T) {
	t.Parallel()
	page := string(check.Must[[]byte](t)(os.ReadFile("../../../../docs/rights.md")))
	same := func(what string, one, other []string) {
		t.Helper()
		if diff := cmp.Diff(slices.Sorted(slices.Values(one)), slices.Sorted(slices.Values(other))); diff != "" {
			t.Errorf("%s: docs/rights.md (-), and what is asked or what the library's tests allow (+):\n%s", what, diff)
		}
	}
	for _, isNode := range []bool{false, true} {
		var listed, asked []string
		for _, rule := range documented(t) {
			if command, found := strings.CutPrefix(rule, "+"); found {
				listed = append(listed, command)
			}
		}
		if !isNode {
			same("the library's tests", listed, world.ACLCommands)
		} else {
			line := regexp.MustCompile(`(?m)^\| a Cluster \|.*$`).FindString(page)
			for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(line, -1) {
				listed = append(listed, strings.ReplaceAll(name[1], `\|`, "|"))
			}
		}
		for _, n := range needs {
			if isNode || !n.onCluster {
				asked = append(asked, n.command)
			}
		}
		same(fmt.Sprintf("a Cluster: %t", isNode), listed, asked)
	}
}

// A server is the same after Find, and nobody hears anything.
func TestFindChangesNothing(t *testing.T) {
	t.Parallel()
	redistest.EachServer(t, func(t *testing.T, kind redistest.Kind) {
		server := redistest.Start(t, kind)
		rdb := server.Client(t)
		check.NoError(t, rdb.Set(t.Context(), "lock:a", "value", 0).Err())
		changes := func() string {
			return regexp.MustCompile(`rdb_changes_since_last_save:\d+`).FindString(rdb.Info(t.Context(), "persistence").Val())
		}
		before := changes()
		for _, p := range []string{prefix, ""} {
			check.Must[[]Missing](t)(Find(t.Context(), rdb, p))
		}
		if after := changes(); after != before || before == "" {
			t.Errorf("the server says %q, before %q", after, before)
		}
		if n := rdb.DBSize(t.Context()).Val(); n != 1 {
			t.Errorf("%d keys, want 1", n)
		}
	})
}

// "Every lock" is what a plain lock cannot do without: the words are those of somebody who has to decide what to grant.
func TestPurposes(t *testing.T) {
	t.Parallel()
	u := newUser(t, redistest.Start(t, redistest.Redis))
	client := redislock.New(u.rdb, redislock.WithKeyPrefix(prefix))
	for _, command := range world.ACLCommands {
		setUser(t, u.admin, "-"+command)
		missing := check.Must[[]Missing](t)(Find(t.Context(), u.rdb, prefix))
		fails := plainLock(t.Context(), client) != nil
		if says := len(missing) == 1 && missing[0].For == "every lock"; says != fails && command != "eval" {
			t.Errorf("without %s a plain lock fails: %t; Find says %+v", command, fails, missing)
		}
		setUser(t, u.admin, "+"+command)
		u.admin.FlushAll(t.Context())
	}
}

// plainLock holds a lock, is refused by it, and releases it.
func plainLock(ctx context.Context, client *redislock.Client) error {
	lock, err := client.Obtain(ctx, []string{"a"}, time.Minute, nil)
	if err != nil {
		return err
	}
	_, refused := client.Obtain(ctx, []string{"a"}, time.Minute, nil)
	if errors.Is(refused, redislock.ErrNotObtained) {
		refused = nil
	}
	_, err = lock.TTL(ctx)
	return errors.Join(refused, err, lock.Refresh(ctx, time.Minute), lock.Release(ctx))
}

func TestRefusedCommand(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"NOPERM this user has no permissions to run the 'scan' command":                      "scan",
		"NOPERM this user has no permissions to run the 'cluster' command or its subcommand": "cluster",
		"NOPERM User app has no permissions to run the 'CLUSTER|slots' command":              "cluster|slots",
		"NOPERM this user has no permissions to access one of the keys used as arguments":    "",
		"ERR The user executing the script can't run this command or subcommand":             "",
	} {
		if got := RefusedCommand(text); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}
