package locktest_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/locktest"
)

// The variable names the server, but a bubble has no network. Not parallel, because it sets the variable.
func TestEnvironment(t *testing.T) {
	b := redistest.Shared(t, redistest.Redis)
	t.Setenv("REDISLOCK_TEST_REDIS", "redis://"+b.Addr())
	if got := locktest.New(t).Redis().Options().Addr; got != b.Addr() {
		t.Errorf("got server %s, want %s", got, b.Addr())
	}
	t.Run("bubble", func(t *testing.T) {
		inBubble(t, func(t *testing.T) {
			if got := locktest.New(t).Redis().Options().Addr; got == b.Addr() {
				t.Error("got the server of the variable")
			}
			failure := record(t, func(tb testing.TB) { locktest.New(tb, locktest.WithRedis("redis://"+b.Addr())) })
			if !strings.Contains(failure, "bubble") {
				t.Errorf("got failure %q", failure)
			}
		})
	})
	t.Setenv("REDISLOCK_TEST_REDIS", "")
	if got := locktest.New(t).Redis().Options().Addr; got == b.Addr() {
		t.Error("got the server of a variable that is empty")
	}
}

// Two tests on one server see nothing of each other, and leave nothing. More tests than there are databases wait.
func TestDatabases(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Redis, "--databases", "4")
	base := server.Client(t)
	check.NoError(t, base.Set(t.Context(), "theirs", "1", 0).Err())
	var all sync.WaitGroup
	for range 12 {
		all.Go(func() {
			failure := record(t, func(tb testing.TB) {
				s := locktest.New(tb, locktest.WithRedis("redis://"+server.Addr()))
				if n := s.Redis().DBSize(t.Context()).Val(); n != 0 {
					tb.Errorf("it has %d keys", n)
				}
				check.NoError(t, s.Redis().Set(t.Context(), "data", "1", 0).Err())
				client := s.Client()
				lock, err := client.Obtain(t.Context(), []string{"a"}, time.Minute, nil)
				if err != nil {
					tb.Errorf("somebody else has it: %v", err)
					return
				}
				time.Sleep(20 * time.Millisecond)
				if err := lock.Release(t.Context()); err != nil {
					tb.Errorf("it was taken away: %v", err)
				}
			})
			if failure != "" {
				t.Error(failure)
			}
		})
	}
	all.Wait()
	if info := base.Info(t.Context(), "keyspace").Val(); !strings.Contains(info, "db0:keys=1,") || strings.Count(info, "keys=") != 1 {
		t.Errorf("got databases\n%s\nwant that of others alone", info)
	}
}

// A database that was left by a test that was killed is taken and emptied; one of others never is.
func TestDatabaseLeft(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Redis, "--databases", "3")
	base := server.Client(t)
	inDatabase := func(n int) *redis.Client { return server.Client(t, func(o *redis.Options) { o.DB = n }) }
	for n := 1; n <= 2; n++ {
		check.NoError(t, inDatabase(n).Set(t.Context(), "data", "1", 0).Err())
	}
	url := "redis://" + server.Addr()
	failure := record(t, func(tb testing.TB) { locktest.New(tb, locktest.WithRedis(url)) })
	if !strings.Contains(failure, "keys that are not of a test") {
		t.Fatalf("got failure %q", failure)
	}
	check.NoError(t, base.HSet(t.Context(), "redislock:locktest:databases", "2", "a test that was killed").Err())
	failure = record(t, func(tb testing.TB) {
		s := locktest.New(tb, locktest.WithRedis(url))
		if db, n := s.Redis().Options().DB, s.Redis().DBSize(t.Context()).Val(); db != 2 || n != 0 {
			tb.Errorf("got database %d with %d keys, want 2 and none", db, n)
		}
	})
	if failure != "" {
		t.Error(failure)
	}
	if got := inDatabase(1).Get(t.Context(), "data").Val(); got != "1" {
		t.Error("the data of others is gone")
	}
	if n := base.DBSize(t.Context()).Val(); n != 0 {
		t.Errorf("got %d keys beside the databases", n)
	}
}

// The claim of a test that takes long stays its own.
func TestDatabaseClaim(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Redis, "--databases", "2")
	locktest.New(t, locktest.WithRedis("redis://"+server.Addr()))
	client := redislock.New(server.Client(t))
	state := check.Must[[]redislock.KeyState](t)(client.Inspect(context.Background(), []string{"redislock:locktest:database:1"}))[0]
	if len(state.Holders) != 1 || !strings.HasPrefix(state.Holders[0].Metadata, t.Name()+" host=") {
		t.Errorf("got %v, want it held with the name of the test", state)
	}
}

// A test that has lost its claim, or whose database others use for their notes, does not empty it.
func TestDatabaseLost(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"redislock:locktest:database:1": "the claim to it was lost",
		"redislock:locktest:databases":  "keys that are not of a test",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t, redistest.Redis, "--databases", "2")
			base := server.Client(t)
			theirs := server.Client(t, func(o *redis.Options) { o.DB = 1 })
			failure := record(t, func(tb testing.TB) {
				locktest.New(tb, locktest.WithRedis("redis://"+server.Addr()))
				if strings.HasSuffix(name, "1") {
					check.NoError(t, base.Del(t.Context(), name).Err())
				} else {
					check.NoError(t, theirs.HSet(t.Context(), name, "0", "another test").Err())
				}
				check.NoError(t, theirs.Set(t.Context(), "data", "1", 0).Err())
			})
			if !strings.Contains(failure, want) {
				t.Errorf("got failure %q, want %q", failure, want)
			}
			if theirs.Get(t.Context(), "data").Val() != "1" {
				t.Error("the data of others is gone")
			}
		})
	}
}

// FLUSHALL would empty the databases of others.
func TestDatabaseFlushAll(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Redis, "--databases", "2")
	base := server.Client(t)
	check.NoError(t, base.Set(t.Context(), "data", "1", 0).Err())
	rdb := locktest.New(t, locktest.WithRedis("redis://"+server.Addr())).Redis()
	pipe := rdb.Pipeline()
	ping, flush := pipe.Ping(t.Context()), pipe.FlushAll(t.Context())
	_, err := pipe.Exec(t.Context())
	for _, err := range []error{err, flush.Err(), rdb.FlushAll(t.Context()).Err()} {
		if err == nil || !strings.Contains(err.Error(), "use FLUSHDB") {
			t.Errorf("got error %v", err)
		}
	}
	check.NoError(t, ping.Err())
	if base.Get(t.Context(), "data").Val() != "1" {
		t.Error("the data of others is gone")
	}
	check.NoError(t, rdb.FlushDB(t.Context()).Err())
}

// Inside the test there is nobody else, so a test may empty everything.
func TestFlushAllEmbedded(t *testing.T) {
	inBubble(t, func(t *testing.T) { check.NoError(t, locktest.New(t).Redis().FlushAll(t.Context()).Err()) })
}

func TestDatabaseNone(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Redis, "--databases", "1")
	for url, want := range map[string]string{
		"redis://" + server.Addr():    "the server has one database",
		"redis://127.0.0.1:1":         "connection refused",
		"localhost:6379":              "the URL of the server",
		"redis://localhost/no-number": "the URL of the server",
	} {
		failure := record(t, func(tb testing.TB) { locktest.New(tb, locktest.WithRedis(url)) })
		if !strings.Contains(failure, want) {
			t.Errorf("%s: got failure %q, want %q", url, failure, want)
		}
	}
}
