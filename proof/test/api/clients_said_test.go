package api_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// Each Client is told of its turns on a channel of its own.
func TestClientsHaveChannels(t *testing.T) {
	world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
		check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a"), time.Hour, nil))
		var mu sync.Mutex
		channels := map[string]int{} // and by which Client they are used
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for i := range 3 {
			rdb := mini.Client(t)
			rdb.AddHook(check.Around{Before: func(cmd redis.Cmder) {
				if run := check.RunIn(cmd); world.StandsInLine(run) {
					mu.Lock()
					defer mu.Unlock()
					if of, is := channels[run.Channel()]; is && of != i {
						t.Errorf("the Clients %d and %d have the channel %q", of, i, run.Channel())
					}
					channels[run.Channel()] = i
				}
			}})
			client := world.NewClient(t, rdb)
			go func() { _, _ = client.Obtain(ctx, w.Keys("a"), time.Hour, world.Queue()) }()
			time.Sleep(time.Second)
		}
		<-ctx.Done()
		synctest.Wait()
		if len(channels) != 3 {
			t.Errorf("got channels %v, want 3", channels)
		}
	})
}

// A Client that cannot hear of Breaks says why in its log, once for each try, without the place in a script.
func TestLogOfNotices(t *testing.T) {
	world.Bubble(t, func(t *testing.T, _ *world.World, _ *redistest.Mini, _ *world.Journal) {
		const place = " script: 4e6d2b1f0c9a8b7d6e5f4a3b2c1d0e9f8a7b6c5d, on @user_script:12."
		p := &world.FakeServer{
			Script:    func(check.Run) string { return ":1\r\n" },
			Subscribe: func(int, string) string { return "-NOPERM no channel" + place + "\r\n" },
		}
		var book check.Log
		client := redislock.New(p.Client(t), redislock.WithBreakNotices(), redislock.WithLogger(slog.New(&book)))
		check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{"a"}, time.Hour, world.Watched))
		time.Sleep(time.Second)
		client.Close()
		synctest.Wait()
		lines := book.Lines()
		const want = "INFO redislock: notices of Break are not heard, trying again error=NOPERM no channel"
		if len(lines) == 0 || lines[0] != want {
			t.Errorf("got log %q, want %s", lines, want)
		}
	})
}

// Something foreign in the place of the fencing numbers is named as it is in Redis, with its type.
func TestTextOfAForeignFence(t *testing.T) {
	world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
		client := world.NewClient(t, w.RDB, redislock.WithKeyPrefix("p:"))
		check.NoError(t, w.RDB.RPush(t.Context(), "redislock:fence:{p:b}", "x").Err())
		_, err := client.Obtain(t.Context(), []string{"a", "b"}, time.Hour, world.Fenced())
		const want = `redislock: obtain "a" and 1 more: "redislock:fence:{p:b}" holds a list that is no record of fencing numbers`
		if err == nil || err.Error() != want {
			t.Errorf("got error %v, want %s", err, want)
		}
	})
}

// Callers see their keys without the prefix, however short it is.
func TestShortPrefix(t *testing.T) {
	world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
		keys := []string{"a", "pb"}
		for _, prefix := range []string{"p", "pp", "é"} {
			client := world.NewClient(t, w.RDB, redislock.WithKeyPrefix(prefix))
			lock := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), keys, time.Hour, nil))
			if diff := cmp.Diff(keys, lock.Keys()); diff != "" {
				t.Errorf("keys behind the prefix %q (-want +got):\n%s", prefix, diff)
			}
			if n := w.RDB.Exists(t.Context(), prefix+"a", prefix+"pb").Val(); n != 2 {
				t.Errorf("%d of the keys are held behind the prefix %q", n, prefix)
			}
			check.NoError(t, lock.Release(t.Context()))
		}
	})
}
