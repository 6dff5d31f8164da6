package servers_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// Messages know no databases. Two databases of one server, with locks of the same names, do not disturb each other: neither
// is woken to take what it may not have, nor does it lose what the other has broken.
func testDatabasesApart(t *testing.T, s *server) {
	t.Helper()
	own := redistest.StartProgram(t, redistest.Kind(s.product), s.path) // on which nobody else listens
	here, there := inDatabase(t, own, 3), inDatabase(t, own, 4)
	turnHere, turnThere := make(chan world.Turn, 1), make(chan world.Turn, 1)
	name := "apart"
	lockHere := check.Must[*redislock.Lock](t)(here.Client.Obtain(t.Context(), []string{name}, world.Long, world.Watched))
	lockThere := check.Must[*redislock.Lock](t)(there.Client.Obtain(t.Context(), []string{name}, world.Long, world.Watched))
	here.Wait(t.Context(), turnHere, "here", []string{name}, nil)
	there.Wait(t.Context(), turnThere, "there", []string{name}, nil)
	here.InLine(t, name, 1)
	there.InLine(t, name, 1)

	check.NoError(t, lockHere.Release(t.Context()))
	lockHere = world.WantTurn(t, turnHere, "here")[0]
	world.WantNobody(t, turnThere)
	there.InLine(t, name, 1)

	_ = lockHere.Lost() // from now on it is watched
	check.Eventually(t, time.Minute, "both listen", func() bool {
		return here.RDB.PubSubNumSub(t.Context(), "redislock:break").Val()["redislock:break"] >= 2
	})
	broken := check.Must[[]redislock.Holder](t)(here.Client.Break(t.Context(), []string{name}, "here"))
	if len(broken) != 1 {
		t.Errorf("got %v, want the lock of here", broken)
	}
	if _, ok := check.Receive(lockHere.Lost(), time.Minute); !ok {
		t.Error("the lock that was broken is not lost")
	}
	// Whatever the notice has caused there is over when these have been answered.
	check.NoError(t, lockThere.Refresh(t.Context(), world.Long))
	if ctx := lockThere.Context(t.Context()); ctx.Err() != nil {
		t.Errorf("the lock of the other database is lost: %v", context.Cause(ctx))
	}
	check.NoError(t, lockThere.Release(t.Context()))
	check.NoError(t, world.WantTurn(t, turnThere, "there")[0].Release(t.Context()))
	if err := lockHere.Release(t.Context()); !errors.Is(err, redislock.ErrLockNotHeld) {
		t.Errorf("got error %v, want that the lock is not held", err)
	}
}

// inDatabase is a program that uses another database.
func inDatabase(t *testing.T, b redistest.Backend, db int) *world.World {
	t.Helper()
	rdb := b.Client(t, func(o *redis.Options) { o.DB = db })
	return &world.World{RDB: rdb, Client: world.NewClient(t, rdb, redislock.WithBreakNotices())}
}
