package fault_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A stop has a server do nothing until the function that it returns is called.
type stop func(t *testing.T, server *redistest.Server) (goOn func())

// stops are the ways in which a server stands still, though its process runs and its connections are open.
var stops = map[string]stop{
	"CLIENT PAUSE ALL":           pauseAll,
	"CLIENT PAUSE WRITE":         pauseWrites,
	"a script that does not end": loop,
}

// pauseAll stops everybody's commands, CLIENT UNPAUSE as well, so the pause has to end by itself.
func pauseAll(t *testing.T, server *redistest.Server) func() {
	t.Helper()
	admin := server.Client(t, func(o *redis.Options) { o.ReadTimeout = time.Hour })
	check.NoError(t, admin.Do(t.Context(), "client", "pause", (4*time.Second).Milliseconds(), "all").Err())
	return func() { check.NoError(t, admin.Ping(t.Context()).Err()) }
}

// pauseWrites stops the commands that may write: that is every script.
func pauseWrites(t *testing.T, server *redistest.Server) func() {
	t.Helper()
	admin := server.Client(t)
	check.NoError(t, admin.Do(t.Context(), "client", "pause", time.Hour.Milliseconds(), "write").Err())
	return func() { check.NoError(t, admin.Do(t.Context(), "client", "unpause").Err()) }
}

// loop keeps the server busy: it answers everybody BUSY, and takes nothing but SCRIPT KILL.
func loop(t *testing.T, server *redistest.Server) func() {
	t.Helper()
	admin := server.Client(t)
	check.NoError(t, admin.ConfigSet(t.Context(), "busy-reply-threshold", "1").Err())
	stuck := server.Client(t, func(o *redis.Options) { o.MaxRetries, o.ReadTimeout = -1, time.Hour })
	ended := make(chan error, 1)
	go func() { ended <- stuck.Do(context.Background(), "eval", "while true do end", "0").Err() }()
	check.Eventually(t, time.Minute, "the server is busy", func() bool {
		err := admin.Ping(t.Context()).Err()
		return err != nil && redis.HasErrorPrefix(err, "BUSY")
	})
	return func() {
		check.NoError(t, admin.ScriptKill(t.Context()).Err())
		if err := <-ended; err == nil {
			t.Error("the script has ended by itself")
		}
	}
}

// A server that stands still for less than a lease loses no lock. If it stands still for longer, every holder learns of the
// loss while it does, and afterwards the key is free.
func TestServerStandsStill(t *testing.T) {
	t.Parallel()
	for _, kind := range redistest.Servers() {
		for name, stop := range stops {
			t.Run(fmt.Sprint(kind, ", ", name, ", shortly"), func(t *testing.T) {
				t.Parallel()
				const ttl = 15 * time.Second
				server := redistest.Start(t, kind)
				w := world.New(t, server)
				sent := check.Count(w.RDB, "eval")
				held := world.LockKinds[0].Hold(t, w.Client, w.Key("k"), ttl, true)
				before, began := sent.Load(), time.Now()
				goOn := stop(t, server)
				check.Eventually(t, world.Polled, "a renewal is on its way", func() bool { return sent.Load() > before })
				goOn()
				held.RenewedSince(t, began, ttl)
				check.NoError(t, held.Lock.Release(t.Context()))
			})
			t.Run(fmt.Sprint(kind, ", ", name, ", for longer than a lease"), func(t *testing.T) {
				t.Parallel()
				server := redistest.Start(t, kind)
				w := world.New(t, server)
				held := world.LockKinds[0].Hold(t, w.Client, w.Key("k"), 1500*time.Millisecond, true)
				goOn := stop(t, server)
				held.WantLost(t)
				goOn()
				next := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), held.Keys, world.Long, &redislock.Options{
					RetryStrategy: redislock.LinearBackoff(20 * time.Millisecond),
				}))
				check.Is(t, held.Lock.Release(t.Context()), redislock.ErrLockNotHeld)
				check.NoError(t, next.Release(t.Context()))
			})
		}
	}
}

// DEBUG SLEEP stops the server for a fixed time, in which it does not even take connections.
func TestServerSleeps(t *testing.T) {
	t.Parallel()
	redistest.EachServer(t, func(t *testing.T, kind redistest.Kind) {
		server := redistest.Start(t, kind)
		w := world.New(t, server)
		short := world.LockKinds[0].Hold(t, w.Client, w.Key("short"), 1500*time.Millisecond, true)
		long := world.LockKinds[0].Hold(t, w.Client, w.Key("long"), time.Minute, false)
		sleeps := server.Client(t, func(o *redis.Options) { o.MaxRetries, o.ReadTimeout = -1, time.Hour })
		ended := make(chan error, 1)
		go func() { ended <- sleeps.Do(context.Background(), "debug", "sleep", "4").Err() }()
		short.WantLost(t)
		check.NoError(t, <-ended)
		check.NoError(t, long.Lock.Refresh(t.Context(), time.Minute))
		check.NoError(t, long.Lock.Release(t.Context()))
	})
}
