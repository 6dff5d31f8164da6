package redislock

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/wire"
)

// reply is an error of a server, as go-redis hands it on.
type reply string

func (r reply) Error() string { return string(r) }
func (reply) RedisError()     {}

// inScript is what Redis 7 appends to errors that arise inside a script.
const inScript = " script: 4e6d2b1f0c9a8b7d6e5f4a3b2c1d0e9f8a7b6c5d, on @user_script:12."

// call6 is what stands before such errors of Redis 6, behind words of its own.
const call6 = " (call to f_4e6d2b1f0c9a8b7d6e5f4a3b2c1d0e9f8a7b6c5d): @user_script:12: "

// marked is a token that must not be seen anywhere.
const marked = "tok3n-MARKED-s3cret"

// serverErrors are the strings of RELIABILITY 6.5 and what they mean.
var serverErrors = []struct {
	err      error
	class    wire.Outcome
	sentinel error
}{
	{reply("OOM command not allowed when used memory > 'maxmemory'."), wire.Final, nil},
	{reply("OOM command not allowed when used memory > 'maxmemory'." + inScript), wire.Final, nil},
	{reply("BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE."), wire.Passing, nil},
	{reply("LOADING Redis is loading the dataset in memory"), wire.Passing, nil},
	{reply("MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."), wire.Passing, nil},
	{reply("READONLY You can't write against a read only replica."), wire.Passing, nil},
	{reply("READONLY You can't write against a read only replica." + inScript), wire.Passing, nil},
	{reply("NOREPLICAS Not enough good replicas to write."), wire.Passing, nil},
	{reply("NOREPLICAS Not enough good replicas to write." + inScript), wire.Passing, nil},
	{reply("NOSCRIPT No matching script. Please use EVAL."), wire.Passing, nil},
	{reply("CLUSTERDOWN The cluster is down"), wire.Passing, nil},
	{reply("CLUSTERDOWN Hash slot not served"), wire.Passing, nil},
	{reply("MOVED 3999 127.0.0.1:6381"), wire.Passing, nil},
	{reply("ASK 3999 127.0.0.1:6381"), wire.Passing, nil},
	{reply("TRYAGAIN Multiple keys request during rehashing of slot"), wire.Passing, nil},
	{reply("CROSSSLOT Keys in request don't hash to the same slot"), wire.Final, ErrCrossSlot},
	{reply("NOPERM this user has no permissions to run the 'evalsha' command"), wire.Final, nil},
	{reply("NOPERM this user has no permissions to access one of the keys used as arguments"), wire.Final, nil},
	{reply("ERR max number of clients reached"), wire.Passing, nil},
	{reply("WRONGPASS invalid username-password pair or user is disabled."), wire.Final, nil},
	{reply("NOAUTH Authentication required."), wire.Final, nil},
	{reply("ERR The user executing the script can't run this command or subcommand" + inScript), wire.Final, nil},
	{reply("ERR The user executing the script can't access at least one of the keys mentioned in the command arguments" + inScript), wire.Final, nil},
	{reply("ERR The user executing the script can't publish to the channel mentioned in the command" + inScript), wire.Final, nil},
	{reply("NOPERM ACL failure in script: User app has no permissions to run the 'set' command" + inScript), wire.Final, nil},
	{reply("WRONGTYPE Operation against a key holding the wrong kind of value" + inScript), wire.Final, nil},
	{reply("ERR invalid expire time in 'pexpire' command" + inScript), wire.Final, nil},
	{reply("ERR user_script:12: attempt to index a nil value (local 'x')" + inScript), wire.Final, nil},
	{reply("ERR Error running script (call to f_4e6d2b1f0c9a8b7d6e5f4a3b2c1d0e9f8a7b6c5d): @user_script:12: WRONGTYPE Operation"), wire.Final, nil},
	{reply("ERR Script killed by user with SCRIPT KILL." + inScript), wire.Passing, nil},
	{reply("ERR Script attempted to access a non local key in a cluster node" + inScript), wire.Unknown, ErrUnknownOutcome},
	{reply("ERR Script attempted to access a slot not served" + inScript), wire.Unknown, ErrUnknownOutcome},
	{reply("ERR Attempted to access a non local key in a cluster node script: on @user_script:12."), wire.Unknown, ErrUnknownOutcome},
	{reply("READONLY You can't write against a read only replica. script: on @user_script:12."), wire.Passing, nil},
	{reply("ERR Error running script" + call6 + "@user_script: 12: -READONLY You can't write against a read only replica."), wire.Passing, nil},
	{reply("ERR Error running script" + call6 + "Script killed by user with SCRIPT KILL..."), wire.Passing, nil},
	{reply("UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)"), wire.Unknown, ErrUnknownOutcome},
	{reply("ERR unknown command 'evalsha', with args beginning with: '4e6d2b1f0c9a8b7d6e5f4a3b2c1d0e9f8a7b6c5d' '1' 'k' '" + marked + "' "), wire.Final, nil},
	{reply("redis: nil"), wire.Final, nil},
	{io.EOF, wire.Unknown, ErrUnknownOutcome},
	{io.ErrUnexpectedEOF, wire.Unknown, ErrUnknownOutcome},
	{&net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, wire.Unknown, ErrUnknownOutcome},
	{&net.OpError{Op: "write", Err: syscall.EPIPE}, wire.Unknown, ErrUnknownOutcome},
	{&net.OpError{Op: "read", Err: syscall.ECONNRESET}, wire.Unknown, ErrUnknownOutcome},
	{fmt.Errorf("pool: %w", &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}), wire.Passing, nil},
	{redis.ErrPoolTimeout, wire.Passing, nil},
	{redis.ErrClosed, wire.Final, redis.ErrClosed},
	{wire.ErrNotSent, wire.Final, wire.ErrNotSent},
}

func failedCall(err error) *call {
	c := &call{}
	c.Err = err
	return c
}

func TestServerErrors(t *testing.T) {
	t.Parallel()
	set := keySet{keys: []string{"order:7", "stock:9"}, write: 2}
	for _, row := range serverErrors {
		t.Run(row.err.Error(), func(t *testing.T) {
			t.Parallel()
			if got := wire.Classify(row.err); got != row.class {
				t.Errorf("got class %d, want %d", got, row.class)
			}
			if got := wire.Classify(fmt.Errorf("wrapped: %w", row.err)); got != row.class {
				t.Errorf("got class %d of the wrapped error, want %d", got, row.class)
			}
			err := fault("obtain", set, failedCall(row.err))
			if !errors.Is(err, row.err) {
				t.Errorf("got error %v, want one that is its cause", err)
			}
			if row.sentinel != nil && !errors.Is(err, row.sentinel) {
				t.Errorf("got error %v, want one that is %v", err, row.sentinel)
			}
			for _, sentinel := range []error{ErrNotObtained, ErrLockNotHeld, ErrUnknownOutcome, ErrCrossSlot} {
				if !errors.Is(sentinel, row.sentinel) && errors.Is(err, sentinel) {
					t.Errorf("got error %v, want one that is not %v", err, sentinel)
				}
			}
			wantLegible(t, err, "order:7")
		})
	}
}

// wantLegible checks that an error can be shown to whoever is on call: it names the key and has no
// token, and nothing that only the author of a script can read.
func wantLegible(t *testing.T, err error, key string) {
	t.Helper()
	text := err.Error()
	if !strings.HasPrefix(text, "redislock: ") || !strings.Contains(text, key) {
		t.Errorf("got error %q, want one that names %q", text, key)
	}
	for _, secret := range []string{"user_script", "4e6d2b1f0c9a", marked, releaseScript.SHA(), obtainScript.SHA()} {
		if strings.Contains(text, secret) {
			t.Errorf("got error %q, want one without %q", text, secret)
		}
	}
	if !utf8.ValidString(text) {
		t.Errorf("got error %q, want valid UTF-8", text)
	}
}

// A saying makes a real server say an error.
type saying struct {
	want     string // how the error of the server begins
	class    wire.Outcome
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
		"out of memory":        {"OOM", wire.Final, nil, nil, configured(kind, "maxmemory", "1")},
		"out of memory, a set": {"OOM", wire.Final, nil, []string{"a", "b"}, configured(kind, "maxmemory", "1")},
		"no replicas":          {"NOREPLICAS", wire.Passing, nil, nil, configured(kind, "min-replicas-to-write", "1")},
		"no replicas, a set":   {"NOREPLICAS", wire.Passing, nil, []string{"a", "b"}, configured(kind, "min-replicas-to-write", "1")},
		"read-only replica": {"READONLY", wire.Passing, nil, nil, func(t *testing.T) *redis.Client {
			t.Helper()
			rdb := replicaOf(redistest.Start(t, kind))(t)
			becomes(t, rdb, "READONLY", "set", "x", "y")
			return rdb
		}},
		"primary down": {"MASTERDOWN", wire.Passing, nil, nil, func(t *testing.T) *redis.Client {
			t.Helper()
			primary := redistest.Start(t, kind)
			rdb := replicaOf(primary, "replica-serve-stale-data", "no")(t)
			primary.Kill()
			becomes(t, rdb, "MASTERDOWN", "get", "x")
			return rdb
		}},
		"loading": {"LOADING", wire.Passing, nil, nil, func(t *testing.T) *redis.Client {
			t.Helper()
			primary := redistest.Start(t, kind)
			do(t, primary.Client(t), "debug", "populate", "20000")
			rdb := replicaOf(primary, "key-load-delay", "1000", "loading-process-events-interval-bytes", "1024")(t)
			becomes(t, rdb, "LOADING", "get", "x")
			return rdb
		}},
		"busy": {"BUSY", wire.Passing, nil, nil, func(t *testing.T) *redis.Client {
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
		"no password": {"NOAUTH", wire.Final, nil, nil, func(t *testing.T) *redis.Client {
			t.Helper()
			server := redistest.Start(t, kind)
			do(t, server.Client(t), "config", "set", "requirepass", "right")
			return server.Client(t, once)
		}},
		"wrong password": {"WRONGPASS", wire.Final, nil, nil, func(t *testing.T) *redis.Client {
			t.Helper()
			server := redistest.Start(t, kind)
			do(t, server.Client(t), "config", "set", "requirepass", "right")
			return server.Client(t, once, func(o *redis.Options) { o.Password = "wrong" })
		}},
		"cluster down": {"CLUSTERDOWN", wire.Passing, nil, nil, func(t *testing.T) *redis.Client {
			t.Helper()
			return redistest.Start(t, kind, "--cluster-enabled", "yes").Client(t, once)
		}},
		"cross slot": {"CROSSSLOT", wire.Final, ErrCrossSlot, []string{"a", "b"}, func(t *testing.T) *redis.Client {
			t.Helper()
			rdb := redistest.Start(t, kind, "--cluster-enabled", "yes").Client(t, once)
			do(t, rdb, "cluster", "addslotsrange", "0", "16383")
			becomes(t, rdb, "CROSSSLOT", "mget", "a", "b")
			return rdb
		}},
		"scripts forbidden": {"ERR unknown command", wire.Final, nil, nil, func(t *testing.T) *redis.Client {
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
	if errors.Is(err, ErrNotObtained) || errors.Is(err, ErrUnknownOutcome) {
		t.Errorf("got error %v, want one that says no more than the server", err)
	}
	if s.sentinel != nil && !errors.Is(err, s.sentinel) {
		t.Errorf("got error %v, want one that is %v", err, s.sentinel)
	}
	if got := wire.Classify(err); got != s.class {
		t.Errorf("got class %d of %v, want %d", got, err, s.class)
	}
	wantLegible(t, err, key)
}

// A server with too many clients hangs up, and it is a matter of luck whether the reason can be read.
func TestTooManyClients(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Redis)
	admin := server.Client(t)
	do(t, admin, "config", "set", "maxclients", "1")
	client := New(server.Client(t, once))
	t.Cleanup(client.Close)
	_, err := client.Obtain(t.Context(), []string{"k"}, time.Minute, nil)
	if err == nil || errors.Is(err, ErrNotObtained) {
		t.Fatalf("got error %v, want that there was no connection", err)
	}
	if !errors.Is(err, ErrUnknownOutcome) {
		wantSaid(t, err, saying{want: "ERR max number of clients reached", class: wire.Passing}, "k")
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
	client := New(rdb)
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
