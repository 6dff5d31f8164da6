package errors_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// A saying makes a real server say an error.
type saying struct {
	want     string // how the error of the server begins
	class    class
	sentinel error
	keys     []string // default: one
	client   func(t *testing.T) *redis.Client
}

func once(o *redis.Options) { o.MaxRetries = -1 }

// configured is a server with a setting.
func configured(kind redistest.Kind, pairs ...string) func(t *testing.T) *redis.Client {
	return func(t *testing.T) *redis.Client {
		t.Helper()
		rdb := redistest.Start(t, kind).Client(t, once)
		for i := 0; i < len(pairs); i += 2 {
			do(t, rdb, "config", "set", pairs[i], pairs[i+1])
		}
		return rdb
	}
}

func do(t *testing.T, rdb *redis.Client, args ...any) any {
	t.Helper()
	v, err := rdb.Do(t.Context(), args...).Result()
	if err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	return v
}

// replicaOf is a client of a replica, changed before it is linked.
func replicaOf(primary *redistest.Server, settings ...string) func(t *testing.T) *redis.Client {
	return func(t *testing.T) *redis.Client {
		t.Helper()
		rdb := redistest.Start(t, primary.Kind()).Client(t, once)
		for i := 0; i < len(settings); i += 2 {
			do(t, rdb, "config", "set", settings[i], settings[i+1])
		}
		host, port, _ := net.SplitHostPort(primary.Addr())
		do(t, rdb, "replicaof", host, port)
		return rdb
	}
}

// becomes waits until the server answers a command with an error that begins so.
func becomes(t *testing.T, rdb *redis.Client, prefix string, command ...any) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(2 * time.Millisecond) {
		err := rdb.Do(t.Context(), command...).Err()
		if err != nil && strings.HasPrefix(err.Error(), prefix) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%v: got %v, want %s", command, err, prefix)
		}
	}
}

func sayings(kind redistest.Kind) map[string]saying {
	return map[string]saying{
		"out of memory":        {"OOM", final, nil, nil, configured(kind, "maxmemory", "1")},
		"out of memory, a set": {"OOM", final, nil, []string{"a", "b"}, configured(kind, "maxmemory", "1")},
		"no replicas":          {"NOREPLICAS", passing, nil, nil, configured(kind, "min-replicas-to-write", "1")},
		"no replicas, a set":   {"NOREPLICAS", passing, nil, []string{"a", "b"}, configured(kind, "min-replicas-to-write", "1")},
		"read-only replica": {"READONLY", passing, nil, nil, func(t *testing.T) *redis.Client {
			t.Helper()
			rdb := replicaOf(redistest.Start(t, kind))(t)
			becomes(t, rdb, "READONLY", "set", "x", "y")
			return rdb
		}},
		"primary down": {"MASTERDOWN", passing, nil, nil, func(t *testing.T) *redis.Client {
			t.Helper()
			primary := redistest.Start(t, kind)
			rdb := replicaOf(primary, "replica-serve-stale-data", "no")(t)
			primary.Kill()
			becomes(t, rdb, "MASTERDOWN", "get", "x")
			return rdb
		}},
		"loading": {"LOADING", passing, nil, nil, func(t *testing.T) *redis.Client {
			t.Helper()
			primary := redistest.Start(t, kind)
			do(t, primary.Client(t), "debug", "populate", "20000")
			rdb := replicaOf(primary, "key-load-delay", "1000", "loading-process-events-interval-bytes", "1024")(t)
			becomes(t, rdb, "LOADING", "get", "x")
			return rdb
		}},
		"busy": {"BUSY", passing, nil, nil, func(t *testing.T) *redis.Client {
			t.Helper()
			server := redistest.Start(t, kind)
			rdb := server.Client(t, once)
			do(t, rdb, "config", "set", "busy-reply-threshold", "1")
			stuck := server.Client(t, func(o *redis.Options) { o.MaxRetries = -1 })
			go stuck.Do(context.Background(), "eval", "while true do end", "0")
			t.Cleanup(func() { rdb.ScriptKill(context.Background()) })
			becomes(t, rdb, "BUSY", "get", "x")
			return rdb
		}},
		"no password": {"NOAUTH", final, nil, nil, func(t *testing.T) *redis.Client {
			t.Helper()
			server := redistest.Start(t, kind)
			do(t, server.Client(t), "config", "set", "requirepass", "right")
			return server.Client(t, once)
		}},
		"wrong password": {"WRONGPASS", final, nil, nil, func(t *testing.T) *redis.Client {
			t.Helper()
			server := redistest.Start(t, kind)
			do(t, server.Client(t), "config", "set", "requirepass", "right")
			return server.Client(t, once, func(o *redis.Options) { o.Password = "wrong" })
		}},
		"cluster down": {"CLUSTERDOWN", passing, nil, nil, func(t *testing.T) *redis.Client {
			t.Helper()
			return redistest.Start(t, kind, "--cluster-enabled", "yes").Client(t, once)
		}},
		"cross slot": {"CROSSSLOT", final, redislock.ErrCrossSlot, []string{"a", "b"}, func(t *testing.T) *redis.Client {
			t.Helper()
			rdb := redistest.Start(t, kind, "--cluster-enabled", "yes").Client(t, once)
			do(t, rdb, "cluster", "addslotsrange", "0", "16383")
			becomes(t, rdb, "CROSSSLOT", "mget", "a", "b")
			return rdb
		}},
		"scripts forbidden": {"ERR unknown command", final, nil, nil, func(t *testing.T) *redis.Client {
			t.Helper()
			return redistest.Start(t, kind, "--rename-command", "EVALSHA", "").Client(t, once)
		}},
	}
}

func wantSaid(t *testing.T, err error, s saying, key string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), s.want) {
		t.Fatalf("got error %v, want %q", err, s.want)
	}
	if errors.Is(err, redislock.ErrNotObtained) || errors.Is(err, redislock.ErrUnknownOutcome) {
		t.Errorf("got error %v, want one that says no more than the server", err)
	}
	if s.sentinel != nil && !errors.Is(err, s.sentinel) {
		t.Errorf("got error %v, want one that is %v", err, s.sentinel)
	}
	wantLegible(t, err, key)
}

// A server with too many clients hangs up, and it is a matter of luck whether the reason can be read.
func TestTooManyClients(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Redis)
	admin := server.Client(t)
	do(t, admin, "config", "set", "maxclients", "1")
	client := redislock.New(server.Client(t, once))
	t.Cleanup(client.Close)
	_, err := client.Obtain(t.Context(), []string{"k"}, time.Minute, nil)
	if err == nil || errors.Is(err, redislock.ErrNotObtained) {
		t.Fatalf("got error %v, want that there was no connection", err)
	}
	if !errors.Is(err, redislock.ErrUnknownOutcome) {
		wantSaid(t, err, saying{want: "ERR max number of clients reached"}, "k")
	}
	do(t, admin, "config", "set", "maxclients", "100")
	lock, err := client.Obtain(t.Context(), []string{"k"}, time.Minute, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := lock.Release(t.Context()); err != nil {
		t.Error(err)
	}
}

// A server that is full refuses new locks; those that are held can be refreshed and released.
func TestOutOfMemoryReleases(t *testing.T) {
	t.Parallel()
	rdb := configured(redistest.Redis)(t)
	client := redislock.New(rdb)
	write, err := client.Obtain(t.Context(), []string{"a", "b"}, time.Minute, nil)
	if err != nil {
		t.Fatal(err)
	}
	read, err := client.ObtainRead(t.Context(), []string{"c", "d"}, time.Minute, nil)
	if err != nil {
		t.Fatal(err)
	}
	do(t, rdb, "config", "set", "maxmemory", "1")
	if err := errors.Join(write.Refresh(t.Context(), time.Minute), write.Release(t.Context()), read.Release(t.Context())); err != nil {
		t.Errorf("got error %v on a full server, want none", err)
	}
	if n := rdb.DBSize(t.Context()).Val(); n != 0 {
		t.Errorf("%d keys are left", n)
	}
}

// DESIGN section 11: NOPERM retried until the deadline, or swallowed.
func TestServersSay(t *testing.T) {
	t.Parallel()
	for _, kind := range redistest.Servers() {
		for name, s := range sayings(kind) {
			t.Run(string(kind)+"/"+name, func(t *testing.T) {
				t.Parallel()
				checkSaying(t, s)
			})
		}
	}
}

func checkSaying(t *testing.T, s saying) {
	t.Helper()
	var log logged
	attempts := 0
	rdb := s.client(t)
	client := redislock.New(rdb, redislock.WithLogger(log.logger()), redislock.WithHooks(redislock.Hooks{
		Refused: func(_ context.Context, e redislock.Event) { attempts = e.Attempts },
	}))
	t.Cleanup(client.Close)
	keys := s.keys
	if keys == nil {
		keys = []string{"k"}
	}
	_, err := client.As(marked).Obtain(t.Context(), keys, time.Minute, &redislock.Options{
		RetryStrategy: redislock.LimitRetry(redislock.LinearBackoff(time.Millisecond), 2),
	})
	wantSaid(t, err, s, keys[0])
	if want := map[class]int{final: 1, passing: 3}[s.class]; attempts != want {
		t.Errorf("asked %d times, want %d", attempts, want)
	}
	log.wantNone(t, marked)
}
