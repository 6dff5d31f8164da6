package break_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/listen"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// soon is much less than until a renewal of a lock of world.Long, and more than a notice takes.
const soon = 10 * time.Second

// heard waits until so many connections of a server hear notices.
func heard(t *testing.T, rdb *redis.Client, n int64) {
	t.Helper()
	check.Eventually(t, soon, "so many hear notices", func() bool {
		return rdb.PubSubNumSub(t.Context(), listen.NoticeChannel).Val()[listen.NoticeChannel] == n
	})
}

// ended waits until a context ends, and returns its cause.
func ended(ctx context.Context, t *testing.T) error {
	t.Helper()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(soon):
		t.Fatal("the context of a broken lock goes on")
		return nil
	}
}

// own has a server to itself on each kind: who hears notices there is counted.
func own(t *testing.T, fn func(t *testing.T, b redistest.Backend)) {
	t.Helper()
	t.Parallel()
	redistest.EachServer(t, func(t *testing.T, kind redistest.Kind) {
		fn(t, redistest.Start(t, kind))
	})
	t.Run("miniredis", func(t *testing.T) {
		t.Parallel()
		fn(t, redistest.StartMini(t))
	})
}

// A holder whose Client listens is told at once, with the reason; by its context, its channel, its hooks and its log.
func TestNotice(t *testing.T) {
	own(t, func(t *testing.T, b redistest.Backend) {
		var log check.Log
		j := new(world.Journal)
		w := world.New(t, b)
		holder := world.NewClient(t, b.Client(t), redislock.WithBreakNotices(),
			redislock.WithHooks(j.Hooks()), redislock.WithLogger(slog.New(&log)))
		lock := check.Must[*redislock.Lock](t)(holder.ObtainSet(t.Context(), redislock.Set{Write: w.Keys("a"), Read: w.Keys("b")}, world.Long, world.Watched))
		ctx, gone := lock.Context(t.Context()), lock.Lost()
		other := check.Must[*redislock.Lock](t)(holder.Obtain(t.Context(), w.Keys("c"), world.Long, world.Watched))
		heard(t, w.RDB, 1)
		check.Must[[]redislock.Holder](t)(w.Client.Break(t.Context(), w.Keys("b"), "it hangs\n"))
		cause := ended(ctx, t)
		if _, ok := check.Receive(gone, soon); !ok {
			t.Error("Lost is not closed")
		}
		check.Eventually(t, soon, "the hook was called", func() bool { return j.Count("lost") == 1 })
		late := lock.Context(t.Context())
		for name, err := range map[string]error{"cause": cause, "hook": j.Err("lost"), "late cause": context.Cause(late)} {
			check.Is(t, err, redislock.ErrLockLost, redislock.ErrBroken)
			if !strings.Contains(err.Error(), `"it hangs\n"`) {
				t.Errorf("%s: got error %v, want the reason in it, quoted", name, err)
			}
		}
		if lines := log.At(slog.LevelWarn); len(lines) != 1 {
			t.Errorf("got log %q, want one line", lines)
		}
		check.Is(t, lock.Refresh(t.Context(), world.Long), redislock.ErrLockNotHeld, redislock.ErrBroken)
		check.Is(t, lock.Release(t.Context()), redislock.ErrLockNotHeld, redislock.ErrBroken)
		check.NoError(t, other.Refresh(t.Context(), world.Long))
		check.NoError(t, other.Release(t.Context()))
	})
}

// With returns the reason.
func TestNoticeWith(t *testing.T) {
	own(t, func(t *testing.T, b redistest.Backend) {
		w := world.New(t, b)
		holder := world.NewClient(t, b.Client(t), redislock.WithBreakNotices())
		err := holder.With(t.Context(), w.Keys("a"), world.Long, nil, func(ctx context.Context) error {
			heard(t, w.RDB, 1)
			check.Must[[]redislock.Holder](t)(w.Client.Break(t.Context(), w.Keys("a"), ""))
			_ = ended(ctx, t)
			return nil
		})
		check.Is(t, err, redislock.ErrLockLost, redislock.ErrBroken)
	})
}

// Without the option a holder learns of it at its next renewal, and the cause is ErrLockLost itself.
func TestNoNotice(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		const ttl = 3 * time.Second
		lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a"), ttl, world.Watched))
		ctx := lock.Context(t.Context())
		check.Must[[]redislock.Holder](t)(w.Client.Break(t.Context(), w.Keys("a"), "why"))
		if cause := ended(ctx, t); cause != redislock.ErrLockLost { //nolint:errorlint // exactly this
			t.Errorf("got cause %v, want ErrLockLost itself", cause)
		}
	})
}

// The locks of the Client that breaks are broken like those of any other.
func TestNoticeOfOwn(t *testing.T) {
	own(t, func(t *testing.T, b redistest.Backend) {
		w := world.New(t, b, redislock.WithBreakNotices())
		lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a"), world.Long, world.Watched))
		ctx := lock.Context(t.Context())
		heard(t, w.RDB, 1)
		breaks(t, w, w.Keys("a"), "a write ")
		check.Is(t, ended(ctx, t), redislock.ErrBroken)
		check.Is(t, lock.Release(t.Context()), redislock.ErrLockNotHeld)
	})
}

// A notice that nothing has caused, or that makes no sense, does nothing.
func TestNoticeForged(t *testing.T) {
	own(t, func(t *testing.T, b redistest.Backend) {
		w := world.New(t, b)
		rdb := b.Client(t)
		holder := world.NewClient(t, rdb, redislock.WithBreakNotices())
		lock := check.Must[*redislock.Lock](t)(holder.Obtain(t.Context(), w.Keys("a"), world.Long, world.Watched))
		ctx := lock.Context(t.Context())
		check.NoError(t, lock.Refresh(t.Context(), world.Long)) // the server knows the script
		heard(t, w.RDB, 1)
		sent := check.Count(rdb, "eval")
		publish := func(text string) {
			check.NoError(t, w.RDB.Publish(t.Context(), listen.NoticeChannel, text).Err())
		}
		for _, text := range []string{
			"", "b", "b|", "b||", "b|1|", "b|-1|0|", "b|9|0|x", "b|0|1|", "b|0|1|5|a", "b|0|99999999999|", "b|0|1|1|a1", "g|x|1|1",
			strings.Repeat("b|0|1|1|a", 5000), "b|1|1|x" + "1|y",
		} {
			publish(text)
		}
		publish(listen.Notice{Reason: "lie"}.Text())
		publish(listen.Notice{Reason: "lie", Keys: w.Keys("a")}.Text())
		check.Eventually(t, soon, "it has asked", func() bool { return sent.Load() > 0 })
		publish(listen.Notice{Keys: w.Keys("a")}.Text())
		check.NoError(t, lock.Refresh(t.Context(), world.Long))
		if n := sent.Load(); n > 4 {
			t.Errorf("%d commands were sent, want one for each notice at most", n)
		}
		if world.IsDone(ctx) {
			t.Errorf("lost by a forged notice: %v", context.Cause(ctx))
		}
		w.WantTTL(t, w.Key("a"), world.Long-world.Slack, world.Long)
	})
}

// A loss that comes after a notice, and has nothing to do with it, is no Break.
func TestNoticeBeforeLoss(t *testing.T) {
	own(t, func(t *testing.T, b redistest.Backend) {
		w := world.New(t, b)
		rdb := b.Client(t)
		holder := world.NewClient(t, rdb, redislock.WithBreakNotices())
		lock := check.Must[*redislock.Lock](t)(holder.Obtain(t.Context(), w.Keys("a"), world.Long, world.Watched))
		ctx := lock.Context(t.Context())
		check.NoError(t, lock.Refresh(t.Context(), world.Long))
		heard(t, w.RDB, 1)
		answered := make(chan struct{}, 8)
		rdb.AddHook(check.Around{After: func(redis.Cmder) { answered <- struct{}{} }})
		check.NoError(t, w.RDB.Publish(t.Context(), listen.NoticeChannel, listen.Notice{Keys: w.Keys("a")}.Text()).Err())
		if _, ok := check.Receive(answered, soon); !ok {
			t.Fatal("it has not asked")
		}
		time.Sleep(100 * time.Millisecond) // until it has taken in the answer
		check.NoError(t, w.RDB.Del(t.Context(), w.Key("a")).Err())
		check.Is(t, lock.Refresh(t.Context(), world.Long), redislock.ErrLockNotHeld)
		if cause := context.Cause(ctx); cause != redislock.ErrLockLost { //nolint:errorlint // exactly this
			t.Errorf("got cause %v, want ErrLockLost itself", cause)
		}
	})
}

// A Break that is heard while the holder asks, because of another notice, has it ask once more: the answer may be of before.
func TestNoticeWhileItAsks(t *testing.T) {
	world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
		rdb := mini.Client(t)
		holder := world.NewClient(t, rdb, redislock.WithBreakNotices())
		lock := check.Must[*redislock.Lock](t)(holder.Obtain(t.Context(), w.Keys("a"), world.Long, world.Watched))
		ctx := lock.Context(t.Context())
		check.NoError(t, lock.Refresh(t.Context(), world.Long)) // the server knows the script
		heard(t, w.RDB, 1)
		began, asked, goOn := time.Now(), make(chan struct{}), make(chan struct{})
		var first sync.Once
		rdb.AddHook(check.Around{After: func(cmd redis.Cmder) {
			if check.RunIn(cmd).NeverShortens() {
				first.Do(func() {
					close(asked)
					<-goOn
				})
			}
		}})
		check.NoError(t, w.RDB.Publish(t.Context(), listen.NoticeChannel, listen.Notice{Keys: w.Keys("a")}.Text()).Err())
		<-asked
		check.Must[[]redislock.Holder](t)(w.Client.Break(t.Context(), w.Keys("a"), "why"))
		synctest.Wait() // it has heard of that
		close(goOn)
		check.Is(t, ended(ctx, t), redislock.ErrBroken)
		if took := time.Since(began); took > time.Second {
			t.Errorf("it was told after %v", took)
		}
	})
}

// A set with very long names is broken without naming the keys: then every holder looks.
func TestNoticeOfMany(t *testing.T) {
	own(t, func(t *testing.T, b redistest.Backend) {
		w := world.New(t, b, redislock.WithMaxKeys(10000))
		holder := world.NewClient(t, b.Client(t), redislock.WithBreakNotices(), redislock.WithMaxKeys(10000))
		keys := world.Numbered(w.Prefix, 10000)
		if b.Kind() == redistest.Miniredis { // which is slow with many keys
			keys = keys[:500]
		}
		lock := check.Must[*redislock.Lock](t)(holder.Obtain(t.Context(), keys, world.Long, world.Watched))
		other := check.Must[*redislock.Lock](t)(holder.Obtain(t.Context(), w.Keys("c"), world.Long, world.Watched))
		ctx := lock.Context(t.Context())
		heard(t, w.RDB, 1)
		list := check.Must[[]redislock.Holder](t)(w.Client.Break(t.Context(), keys, "many"))
		if len(list) != len(keys) {
			t.Errorf("got %d broken, want %d", len(list), len(keys))
		}
		check.Is(t, ended(ctx, t), redislock.ErrBroken)
		check.NoError(t, other.Refresh(t.Context(), world.Long))
	})
}

// There is one connection while locks are watched, whatever their number, and none a little later. It is that of the line.
func TestNoticeConnection(t *testing.T) {
	own(t, func(t *testing.T, b redistest.Backend) {
		w := world.New(t, b)
		holder := world.NewClient(t, b.Client(t), redislock.WithBreakNotices())
		plain := check.Must[*redislock.Lock](t)(holder.Obtain(t.Context(), w.Keys("plain"), world.Long, nil))
		time.Sleep(50 * time.Millisecond)
		heard(t, w.RDB, 0)
		plain.Lost() // from now on it is watched
		locks := []*redislock.Lock{plain}
		for _, key := range w.Keys("a", "b", "c") {
			locks = append(locks, check.Must[*redislock.Lock](t)(holder.Obtain(t.Context(), []string{key}, world.Long, world.Watched)))
		}
		heard(t, w.RDB, 1)
		turns := make(chan world.Turn, 1)
		waits := &world.World{RDB: w.RDB, Client: holder, Prefix: w.Prefix}
		waits.StandWith(t.Context(), t, turns, "next", "A", world.Queue())
		if n := len(w.RDB.PubSubChannels(t.Context(), "redislock:*").Val()); n != 2 {
			t.Errorf("%d channels are heard, want those of the line and of notices", n)
		}
		for _, lock := range locks {
			check.NoError(t, lock.Release(t.Context()))
		}
		check.NoError(t, world.WantTurn(t, turns, "next")[0].Release(t.Context()))
		heard(t, w.RDB, 1) // for 5 s
		check.Eventually(t, 20*time.Second, "nothing is heard any more", func() bool {
			return len(w.RDB.PubSubChannels(t.Context(), "redislock:*").Val()) == 0
		})
		again := check.Must[*redislock.Lock](t)(holder.Obtain(t.Context(), w.Keys("a"), world.Long, world.Watched))
		heard(t, w.RDB, 1)
		check.NoError(t, again.Release(t.Context()))
	})
}

// A handle of an Attach hears notices from its first Refresh on, until its lease ends. Before that nothing would end it: each
// handle whose context was asked for would be kept, and the connection with it.
func TestNoticeAttached(t *testing.T) {
	own(t, func(t *testing.T, b redistest.Backend) {
		w := world.New(t, b)
		lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a"), world.Long, nil))
		holder := world.NewClient(t, b.Client(t), redislock.WithBreakNotices())
		attached := holder.Attach(w.Keys("a"), lock.Token())
		ctx := attached.Context(t.Context())
		time.Sleep(100 * time.Millisecond)
		heard(t, w.RDB, 0)
		check.NoError(t, attached.Refresh(t.Context(), world.Long))
		heard(t, w.RDB, 1)
		check.Must[[]redislock.Holder](t)(w.Client.Break(t.Context(), w.Keys("a"), ""))
		check.Is(t, ended(ctx, t), redislock.ErrBroken)
	})
}

// A connection that breaks is replaced while locks are watched.
func TestNoticeReconnects(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Redis)
	relay := redistest.NewRelay(t, server.Addr())
	var log check.Log
	w := world.New(t, server)
	holder := world.NewClient(t, relay.Client(t), redislock.WithBreakNotices(), redislock.WithLogger(slog.New(&log)))
	lock := check.Must[*redislock.Lock](t)(holder.Obtain(t.Context(), w.Keys("a"), world.Long, world.Watched))
	ctx := lock.Context(t.Context())
	heard(t, w.RDB, 1)
	relay.Refuse(true)
	relay.Cut()
	heard(t, w.RDB, 0)
	time.Sleep(time.Second)
	relay.Refuse(false)
	heard(t, w.RDB, 1)
	if lines := log.At(slog.LevelInfo); len(lines) != 1 || !strings.Contains(lines[0], "not heard") {
		t.Errorf("got log %q, want one line", lines)
	}
	check.Must[[]redislock.Holder](t)(w.Client.Break(t.Context(), w.Keys("a"), ""))
	check.Is(t, ended(ctx, t), redislock.ErrBroken)
}

// Of a Redis client that cannot subscribe nothing is promised silently.
func TestNoticeUnsupported(t *testing.T) {
	own(t, func(t *testing.T, b redistest.Backend) { // on a shared server others may hear notices, too
		w := world.New(t, b)
		client := world.NewClient(t, world.Bare{Scripter: w.RDB}, redislock.WithBreakNotices())
		world.WantUnsent(t, w.RDB, errors.ErrUnsupported, func() error {
			_, err := client.Obtain(t.Context(), w.Keys("a"), world.Long, nil)
			return err
		})
		wrapped := world.NewClient(t, world.Bare{Scripter: w.RDB}, redislock.WithBreakNotices(), redislock.WithWrapped(w.RDB))
		lock := check.Must[*redislock.Lock](t)(wrapped.Obtain(t.Context(), w.Keys("a"), world.Long, world.Watched))
		ctx := lock.Context(t.Context())
		check.Eventually(t, soon, "it hears notices", func() bool {
			return w.RDB.PubSubNumSub(t.Context(), listen.NoticeChannel).Val()[listen.NoticeChannel] > 0
		})
		check.Must[[]redislock.Holder](t)(w.Client.Break(t.Context(), w.Keys("a"), ""))
		check.Is(t, ended(ctx, t), redislock.ErrBroken)
	})
}

// A user with the rights of the list hears notices, also when the line on the same connection is not heard any more; and
// one who may not subscribe is logged as deaf, and locks as ever.
func TestNoticeRights(t *testing.T) {
	t.Parallel()
	g := world.NewGuarded(t, "app:")
	var log check.Log
	client := world.NewClient(t, g.RDB, redislock.WithBreakNotices(), redislock.WithLogger(slog.New(&log)))
	w := &world.World{RDB: g.Admin, Client: client, Prefix: "app:"}
	lock := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), w.Keys("a"), world.Long, world.Watched))
	ctx := lock.Context(t.Context())
	other := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), w.Keys("b"), world.Long, nil))
	turns := make(chan world.Turn, 1)
	w.StandWith(t.Context(), t, turns, "next", "B", world.Queue())
	check.NoError(t, other.Release(t.Context()))
	check.NoError(t, world.WantTurn(t, turns, "next")[0].Release(t.Context()))
	heard(t, g.Admin, 1)
	time.Sleep(7 * time.Second) // nobody stands in line for so long
	heard(t, g.Admin, 1)
	if lines := log.At(slog.LevelInfo); len(lines) > 0 {
		t.Errorf("got log %q, want nothing", lines)
	}
	check.Must[[]redislock.Holder](t)(client.Break(t.Context(), w.Keys("a"), ""))
	check.Is(t, ended(ctx, t), redislock.ErrBroken)

	g.Set(t, "-subscribe")
	deaf := world.NewClient(t, g.RDB, redislock.WithBreakNotices(), redislock.WithLogger(slog.New(&log)))
	lock = check.Must[*redislock.Lock](t)(deaf.Obtain(t.Context(), w.Keys("a"), world.Long, world.Watched))
	check.Eventually(t, 10*time.Second, "it is logged", func() bool { return len(log.At(slog.LevelInfo)) == 1 })
	check.NoError(t, lock.Refresh(t.Context(), world.Long))
	check.NoError(t, lock.Release(t.Context()))
}
