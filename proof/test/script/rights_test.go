package script_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/owners"
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

// A script fails with what the server says of a command that the user may not run, where it has to know the reply, and where it
// would leave something behind for ever. It has changed nothing then.
func TestScriptFailsWithoutRights(t *testing.T) {
	t.Parallel()
	g, s := newGuardedFixture(t)
	admin := &fixture{rdb: g.Admin, prefix: "app:"}
	writes := func(key string) { check.NoError(t, g.Admin.Set(t.Context(), key, "mine", longLease).Err()) }
	reads := func(key string) { admin.readerAt(t, key, "reader", time.Now().Add(longLease).UnixMilli()) }
	for _, c := range []struct {
		without, writer string
		prepare         func(key string)
		closes          bool
		more            int // arguments of the command, beside its key and another one
	}{
		{"hget", "fenced", func(key string) { check.NoError(t, g.Admin.HSet(t.Context(), slot.Beside("fence", key), "", 7).Err()) }, false, 0},
		{"zscore", "refresh", writes, false, 0},
		{"zrange", "obtain", reads, true, 1},
		{"zscore", "raise", reads, false, 0},
		{"pexpire", "refresh", writes, true, 0},
	} {
		name := c.writer + " without " + c.without
		key := s.key(name)
		c.prepare(key)
		before, stamp := admin.dump(t, key), owners.Stamp{}
		if c.closes {
			stamp = stampOf(1, key, "other")
		}
		g.Set(t, "-"+c.without)
		_, err := s.write(t, s.writers()[c.writer], key, "mine", stamp)
		alone := "return redis.call('" + c.without + "', KEYS[1], '1'" + strings.Repeat(", '2'", c.more) + ")"
		_, own := g.RDB.Eval(t.Context(), alone, []string{key}).Result()
		g.Set(t, "+"+c.without)
		if err == nil || own == nil || reasonOf(err) != reasonOf(own) {
			t.Errorf("%s: got error %v, want the same as of the command alone: %v", name, err, own)
		}
		if after := admin.dump(t, key); !c.closes && after != before || g.Admin.TTL(t.Context(), slot.Beside("line", key)).Val() == -1 {
			t.Errorf("%s: there is\n%s, and was\n%s", name, after, before)
		}
	}
}

// reasonOf is what an error of a script says, without where in the script it is.
func reasonOf(err error) string {
	reason, _, _ := strings.Cut(err.Error(), " script: ")
	return reason
}

// A user that may not have the server free a hash later has it freed at once.
func TestHashBeginsAnewWithoutUnlink(t *testing.T) {
	t.Parallel()
	g, s := newGuardedFixture(t, "unlink")
	key := s.key("a")
	fence := slot.Beside("fence", key)
	check.NoError(t, g.Admin.HSet(t.Context(), fence, "", 7, "dead", 1).Err())
	reply, err := s.write(t, s.writers()["fenced"], key, "mine", owners.Stamp{})
	check.NoError(t, err)
	number := fmt.Sprint(reply.([]any)[1])
	if got := g.Admin.HGetAll(t.Context(), fence).Val(); len(got) != 2 || got[""] != number || got["|"] != number+"|mine" {
		t.Errorf("got %v, and the numbers %v", reply, got)
	}
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
