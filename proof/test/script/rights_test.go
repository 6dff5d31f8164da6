package script_test

import (
	"testing"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/internal/slot"
	"github.com/seed-14de3678/redislock/internal/world"
)

// newGuardedFixture is a server whose user may not run these commands.
func newGuardedFixture(t *testing.T, forbidden ...string) (*world.Guarded, *fixture) {
	t.Helper()
	g := world.NewGuarded(t, "app:")
	for _, command := range forbidden {
		g.Set(t, "-"+command)
	}
	return g, &fixture{rdb: g.RDB, prefix: "app:"}
}

// A release of a key that nobody waits for works without the right to look into its line and to ask for the clock, also if the caller
// has a channel; and without the right to run GET.
func TestReleaseWithFewRights(t *testing.T) {
	t.Parallel()
	for name, forbidden := range map[string][]string{"neither lines nor the clock": {"zrange", "time"}, "no strings": {"get"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, s := newGuardedFixture(t, forbidden...)
			key, value := s.key("k"), "mine|metadata"
			check.NoError(t, g.Admin.Set(t.Context(), key, value, longLease).Err())
			got := s.ask(t, &proto.Release{Set: lockKeys([]string{key}, nil), Value: &value, Channel: "redislock:wake:me"})
			if left := g.Admin.Exists(t.Context(), key).Val(); got != int64(1) || left > 0 {
				t.Errorf("got reply %v, and %d keys are left", got, left)
			}
		})
	}
}

// A set to write and to read is not taken at all if the lease of a reader cannot be given to it.
func TestMixedSetWithoutRightToRead(t *testing.T) {
	t.Parallel()
	g, s := newGuardedFixture(t, "pexpireat")
	a, b, value := s.key("a"), s.key("b"), "mine"
	q := &proto.Obtain{
		Set: lockKeys([]string{a}, []string{b}), Value: &value, TTL: longLease, Fresh: true, Intents: []string{slot.Beside("intent", b)},
	}
	if got, err := s.send(t, runOf(q, noStamp)); err == nil {
		t.Errorf("got reply %v", got)
	}
	if left := g.Admin.Exists(t.Context(), a, b).Val(); left > 0 {
		t.Errorf("%d keys are taken", left)
	}
}
