package rights

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// On a Cluster more is needed, on every node.
func TestFindOnCluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, redistest.Redis, 3, 0)
	admins := []*redis.Client{}
	for _, node := range cluster.Nodes() {
		admins = append(admins, node.Client(t))
	}
	everywhere := func(rules ...string) {
		for _, admin := range admins {
			setUser(t, admin, rules...)
		}
	}
	everywhere(documented(t)...)
	rdb := cluster.Client(t, func(o *redis.ClusterOptions) { o.Username, o.Password = "app", "PASSWORD" })
	want := func(what string, want ...string) {
		t.Helper()
		missing := check.Must[[]Missing](t)(Find(t.Context(), rdb, prefix))
		if diff := cmp.Diff(append([]string{}, want...), commandsOf(missing)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	more := []string{"spublish", "ssubscribe", "sunsubscribe", "cluster|slots", "command"}
	want("rights of a single server", more...)
	for _, command := range more {
		everywhere("+" + command)
	}
	want("all rights")
	for _, command := range append(slices.Clone(more), "evalsha") {
		setUser(t, admins[2], "-"+command)
		want("without "+command+" on one node", command)
		setUser(t, admins[2], "+"+command)
	}
	everywhere("resetchannels")
	want("without channels", "&redislock:*")
}

// What the user may not do when a connection is made is missing, too.
func TestFindSelect(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Redis)
	newUser(t, server)
	rdb := server.Client(t, asUser, func(o *redis.Options) { o.DB = 1 })
	missing := check.Must[[]Missing](t)(Find(t.Context(), rdb, prefix))
	if diff := cmp.Diff([]string{"select"}, commandsOf(missing)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Without an answer there is an error, and a command that nobody has is not one that the user lacks.
func TestNotAnswered(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Redis, "--rename-command", "EVAL", "")
	rdb := server.Client(t)
	report := check.Must[Report](t)(On(t.Context(), rdb, prefix, false))
	if diff := cmp.Diff(Report{Unknown: []string{"eval"}}, report); diff != "" {
		t.Errorf("EVAL is disabled (-want +got):\n%s", diff)
	}
	newUser(t, server)
	wrong := server.Client(t, asUser, func(o *redis.Options) { o.Password = "wrong" })
	if missing, err := Find(t.Context(), wrong, prefix); err == nil || !strings.Contains(err.Error(), "WRONGPASS") {
		t.Errorf("a wrong password: %v, %v", missing, err)
	}
	server.Kill()
	if missing, err := Find(t.Context(), rdb, prefix); err == nil {
		t.Errorf("a server that is gone: %v", missing)
	}
}

// A pattern of the user's is found although the prefix has characters that mean something in it.
func TestOddPrefix(t *testing.T) {
	t.Parallel()
	u := newUser(t, redistest.Start(t, redistest.Redis))
	const odd = "a*[b]?\\{c}:"
	missing := check.Must[[]Missing](t)(Find(t.Context(), u.rdb, odd))
	if len(missing) != 2 || missing[0].Pattern == "" || missing[1].Pattern == "" {
		t.Fatalf("%+v, want the patterns of the keys and of what is beside them", missing)
	}
	setUser(t, u.admin, missing[0].Rule, missing[1].Rule)
	missing = check.Must[[]Missing](t)(Find(t.Context(), u.rdb, odd))
	if len(missing) > 0 {
		t.Errorf("still missing: %+v", missing)
	}
}
