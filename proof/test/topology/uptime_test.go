package topology_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A server that has come back without its data gives away what others hold, unless it is made to
// wait until they cannot any more.
func TestMinUptime(t *testing.T) {
	t.Parallel()
	const least = 3 * time.Second
	redistest.EachServer(t, func(t *testing.T, kind redistest.Kind) {
		server := redistest.Start(t, kind)
		rdb := server.Client(t)
		client, patient := world.NewClient(t, rdb), world.NewClient(t, rdb, redislock.WithMinUptime(least))
		refused := world.NewClient(t, rdb, redislock.WithMinUptime(time.Hour))
		held := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{"a"}, least, nil))
		server.Restart()

		for name, opt := range map[string]redislock.Options{
			"write": {}, "fenced": {Fenced: true}, "intent": {Intent: true}, "metadata": {Metadata: "m"},
		} {
			lock, err := refused.ObtainSet(t.Context(), redislock.Set{Write: []string{"a"}, Read: []string{"b"}}, world.Long, &opt)
			conflict := world.WantConflict(t, err, "a", redislock.ModeRestarted)
			if lock != nil || conflict.TTL <= 0 || conflict.TTL > time.Hour+time.Second {
				t.Errorf("%s: got %+v", name, conflict)
			}
		}
		if n := rdb.DBSize(t.Context()).Val(); n != 0 {
			t.Errorf("%d keys were written", n)
		}
		inLine := make(chan error, 1)
		go func() {
			_, err := patient.ObtainRead(t.Context(), []string{"inLine"}, least, world.Queue())
			inLine <- err
		}()
		lock := check.Must[*redislock.Lock](t)(patient.Obtain(t.Context(), []string{"a"}, least, &redislock.Options{
			RetryStrategy: redislock.LinearBackoff(time.Minute), // it is cut to what is left
		}))
		if got := world.Info(t, rdb, "Server", "uptime_in_seconds"); got < int(least.Seconds()) {
			t.Errorf("obtained after %d s", got)
		}
		if at := time.Now(); at.Before(held.Deadline()) {
			t.Errorf("obtained %v before the lease of the former holder was over", held.Deadline().Sub(at))
		}
		check.NoError(t, lock.Release(t.Context()))
		check.NoError(t, <-inLine)
	})
}

// No intent of the caller is left behind, and a server that does not say for how long it has been up gives no lock.
func TestMinUptimeRefusal(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t, redistest.Redis)
	w := world.New(t, server)
	intent := "redislock:intent:{" + w.Key("a") + "}"
	check.NoError(t, w.RDB.Set(t.Context(), intent, "mine", world.Long).Err())
	client := world.NewClient(t, w.RDB, redislock.WithMinUptime(300*24*time.Hour))
	_, err := client.As("mine").Obtain(t.Context(), w.Keys("a"), world.Long, &redislock.Options{Intent: true})
	world.WantConflict(t, err, w.Key("a"), redislock.ModeRestarted)
	if n := w.RDB.Exists(t.Context(), intent).Val(); n != 0 {
		t.Error("the intent is left")
	}

	mini := world.NewClient(t, redistest.StartMini(t).Client(t), redislock.WithMinUptime(time.Second))
	_, err = mini.Obtain(t.Context(), []string{"a"}, time.Second, nil)
	if err == nil || strings.Contains(err.Error(), "compiling") || !strings.Contains(err.Error(), "server") {
		t.Errorf("got error %v, want one of the server", err)
	}
}

// A restart loses what was not yet stored: everything without persistence, what came after the last snapshot, and of an
// append-only file up to the last second. A machine that crashes loses it; that is done here by cutting the file.
func TestRestartWithoutMinUptime(t *testing.T) {
	t.Parallel()
	for name, stored := range map[string][]string{
		"without persistence": nil,
		"snapshot":            {"--dbfilename", "dump.rdb"},
		"everysec":            {"--appendonly", "yes", "--appendfsync", "everysec"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t, redistest.Redis, stored...)
			rdb := server.Client(t)
			client := world.NewClient(t, rdb)
			before := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{"before"}, world.Long, nil))
			lose := func() {}
			switch name {
			case "snapshot":
				check.NoError(t, rdb.Save(t.Context()).Err())
			case "everysec":
				lose = cutFromHere(t, rdb)
			}
			held := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{"a"}, world.Long, nil))
			server.Kill()
			lose()
			server.Restart(stored...)

			waits := world.NewClient(t, rdb, redislock.WithMinUptime(time.Hour))
			_, err := waits.Obtain(t.Context(), []string{"a"}, world.Long, nil)
			world.WantConflict(t, err, "a", redislock.ModeRestarted)
			other := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{"a"}, world.Long, nil))
			if at := time.Now(); !at.Before(held.Deadline()) || !at.Before(other.Deadline()) {
				t.Error("the locks were not held together")
			}
			check.Is(t, held.Refresh(t.Context(), world.Long), redislock.ErrLockNotHeld)
			check.NoError(t, other.Release(t.Context()))
			if err := before.Release(t.Context()); (err == nil) == (stored == nil) {
				t.Errorf("the lock that was stored: %v", err)
			}
		})
	}
}

// cutFromHere makes a function that takes what is written from now on out of the append-only file, when the server is down.
func cutFromHere(t *testing.T, rdb *redis.Client) (lose func()) {
	t.Helper()
	var file string
	var size int64
	check.Eventually(t, world.Soon, "the file is there", func() bool {
		dir := check.Must[map[string]string](t)(rdb.ConfigGet(t.Context(), "dir").Result())["dir"]
		files := check.Must[[]string](t)(filepath.Glob(filepath.Join(dir, "appendonlydir", "*.incr.aof")))
		if len(files) != 1 {
			return false
		}
		file, size = files[0], check.Must[os.FileInfo](t)(os.Stat(files[0])).Size()
		return size > 0
	})
	return func() { check.NoError(t, os.Truncate(file, size)) }
}

func TestServerOptionsInvalid(t *testing.T) {
	t.Parallel()
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"}) // nobody is asked
	t.Cleanup(func() { _ = rdb.Close() })
	for _, test := range []struct {
		want string
		opt  redislock.ClientOption
	}{
		{`invalid WithReplicas: -1 is less than 0`, redislock.WithReplicas(-1)},
		{`invalid WithMinUptime: -1ns is not between 1ms and 8760h0m0s`, redislock.WithMinUptime(-1)},
		{`invalid WithMinUptime: 1ns is not between 1ms and 8760h0m0s`, redislock.WithMinUptime(1)},
		{`invalid WithMinUptime: 8761h0m0s is not between 1ms and 8760h0m0s`, redislock.WithMinUptime(8761 * time.Hour)},
	} {
		client := world.NewClient(t, rdb, test.opt)
		_, err := client.Obtain(t.Context(), []string{"a"}, world.Long, nil)
		if want := "redislock: obtain: " + test.want; err == nil || err.Error() != want {
			t.Errorf("got error %v, want %s", err, want)
		}
		_, err = client.Inspect(t.Context(), []string{"a"})
		if want := "redislock: inspect: " + test.want; err == nil || err.Error() != want {
			t.Errorf("got error %v, want %s", err, want)
		}
	}
	for _, opt := range []redislock.ClientOption{redislock.WithReplicas(1), redislock.WithMinUptime(time.Hour)} {
		plain := world.NewClient(t, struct{ redis.Scripter }{rdb}, opt)
		if _, err := plain.Obtain(t.Context(), []string{"a"}, world.Long, nil); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("got error %v, want one that is not supported", err)
		}
	}
}
