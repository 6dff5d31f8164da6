package api_test

import (
	"context"
	"io"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/world"
)

// cannotRelease is a client that can obtain but not release, as if its process had died.
type cannotRelease struct{ redis.Scripter }

func (m cannotRelease) Eval(ctx context.Context, script string, keys []string, args ...any) *redis.Cmd {
	if check.RunOf("eval", script, "0").Of("release") {
		cmd := redis.NewCmd(ctx)
		cmd.SetErr(io.EOF)
		return cmd
	}
	return m.Scripter.Eval(ctx, script, keys, args...)
}

func (m cannotRelease) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	if check.RunOf("evalsha", sha, "0").Of("release") {
		return m.Eval(ctx, check.SourceOf("release"), keys, args...)
	}
	return m.Scripter.EvalSha(ctx, sha, keys, args...)
}

// Every key has a TTL from its first instant, also if a script fails when it has written a part and nobody is left to
// clear up. DESIGN section 11: an ACL without pexpire, keys without a TTL for ever.
func TestACLHoleLeavesNoImmortalKey(t *testing.T) {
	t.Parallel()
	g := world.NewGuarded(t, "app:")
	client := redislock.New(cannotRelease{g.RDB})
	t.Cleanup(client.Close)
	for _, command := range world.ACLCommands {
		for _, op := range obtains() {
			if op.name == "watchdog" {
				continue // its lease is over before a look at it
			}
			p := newPass(g, client, op.name+" without "+command)
			_ = runWithout(t, g, p, op, command)
			if found := g.WithoutTTL(t); len(found) > 0 {
				t.Errorf("%s without %s: keys without a TTL: %q", op.name, command, found)
			}
			check.NoError(t, g.Admin.FlushDB(t.Context()).Err())
		}
	}
}
