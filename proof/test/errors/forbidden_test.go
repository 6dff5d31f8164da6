package errors_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
	"github.com/seed-14de3678/redislock/multi"
	"github.com/seed-14de3678/redislock/quorum"
)

// The sentences with which a user is told that scripts cannot be run.
const (
	noScripts = "this server runs no scripts, without which there are no locks"
	tooOld    = "this server is too old, Redis 6.2 or later is needed"
	noRight   = "this user of Redis may not run scripts, without which there are no locks"
)

// What servers, services and proxies say that do not let scripts be run, word for word.
func TestScriptsForbiddenInWords(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"ERR unknown command 'evalsha', with args beginning with: 'a' ":                                                       noScripts, // Redis 7, Valkey, rename-command
		"ERR unknown command `EVALSHA`, with args beginning with: `a`, ":                                                      noScripts, // Redis 5, KeyDB
		"ERR unknown command 'eval'":                                                                                          noScripts, // Redis 4
		"unsupported command 'evalsha'":                                                                                       noScripts, // Envoy
		"ERR unsupported command `evalsha`":                                                                                   noScripts, // Redis Cluster proxy
		"ERR command eval not support for normal user":                                                                        noScripts, // Alibaba
		"ERR command eval not support for your account":                                                                       noScripts, // Tencent
		"ERR handle request, command 'EVALSHA' is not allowed":                                                                noScripts, // Codis
		"ERR Command is not available: 'EVALSHA'. See https://example.com for the list":                                       noScripts,
		"NOPERM this user has no permissions to run the 'evalsha' command":                                                    noRight,
		"NOPERM this user has no permissions to run the 'eval' command or its subcommand":                                     noRight, // Redis 6
		"NOPERM User app has no permissions to run the 'evalsha' command":                                                     noRight, // Redis 7.2, Valkey
		"ERR Error running script" + call6 + "@user_script: 12: Write commands not allowed after non deterministic commands.": tooOld,  // 4.0
		"ERR Error running script" + call6 + "ERR value is not an integer or out of range":                                    tooOld,  // 6.0
		"ERR value is not an integer or out of range" + place:                                                                 "",
		"NOSCRIPT No matching script. Please use EVAL.":                                                                       "",
		"NOPERM No permissions to access a key":                                                                               "",
		"NOPERM this user has no permissions to access one of the keys used as arguments":                                     "",
		"NOPERM ACL failure in script: User app has no permissions to run the 'set' command":                                  "",
		"ERR unknown command 'wait', with args beginning with: ":                                                              "",
		"ERR This Redis command is not allowed from script script: 0c80, on @user_script:19.":                                 "",
		"ERR Error running script (call to f_1): @user_script:1: Unknown Redis command from Lua":                              "",
	} {
		_, err := obtained(t, world.Refusal(said))
		if got := strings.Contains(err.Error(), "this server ") || strings.Contains(err.Error(), noRight); got != (want != "") ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%q: got error %v, want it to say %q", said, err, want)
		}
		if got := errors.Is(err, errors.ErrUnsupported); got != (want != "") {
			t.Errorf("%q: got error %v, want one that is not supported: %t", said, err, want != "")
		}
	}
}

// A forbidding server does not let its user run scripts.
type forbidding struct {
	args  []string
	rules []any // of the user
	want  string
}

func forbiddings() map[string]forbidding {
	return map[string]forbidding{
		"EVALSHA is disabled":       {[]string{"--rename-command", "EVALSHA", ""}, nil, noScripts},
		"EVAL is disabled":          {[]string{"--rename-command", "EVAL", ""}, nil, noScripts},
		"both have other names":     {[]string{"--rename-command", "EVAL", "x", "--rename-command", "EVALSHA", "y"}, nil, noScripts},
		"no right to all scripting": {nil, []any{"+@all", "-@scripting"}, noRight},
		"no right to EVAL":          {nil, []any{"+@all", "-eval"}, noRight},
		"no right to EVALSHA":       {nil, []any{"+@all", "-evalsha"}, noRight},
	}
}

// start starts it; the number counts the requests for scripts.
func (f forbidding) start(t *testing.T, kind redistest.Kind) (admin, rdb *redis.Client, scripts *atomic.Int64) {
	t.Helper()
	server := redistest.Start(t, kind, f.args...)
	admin = server.Client(t)
	user := func(*redis.Options) {}
	if f.rules != nil {
		do(t, admin, append([]any{"acl", "setuser", "app", "on", ">x", "~*", "&*"}, f.rules...)...)
		user = func(o *redis.Options) { o.Username, o.Password = "app", "x" }
	}
	scripts = new(atomic.Int64)
	relay := redistest.NewRelay(t, server.Addr())
	relay.OnRequest(func(name string, _ []string) {
		if strings.HasPrefix(name, "EVAL") {
			scripts.Add(1)
		}
	})
	return admin, relay.Client(t, user), scripts
}

// everything is what can be done with a server that runs no scripts.
func everything(t *testing.T, rdb *redis.Client) map[string]func(context.Context) error {
	t.Helper()
	client, asks := world.NewClient(t, rdb), world.NewClient(t, rdb, redislock.WithMinUptime(time.Hour))
	keys := []string{"a", "b"}
	ignore := func(context.Context) error { return nil }
	obtain := func(opt *redislock.Options) func(context.Context) error {
		return func(ctx context.Context) error { _, err := client.Obtain(ctx, keys, time.Minute, opt); return err }
	}
	q := check.Must[*quorum.Client](t)(quorum.New([]*redislock.Client{client}))
	t.Cleanup(q.Close)
	return map[string]func(context.Context) error{
		"obtain": obtain(nil),
		"one key": func(ctx context.Context) error {
			_, err := client.Obtain(ctx, keys[:1], time.Minute, nil)
			return err
		},
		"read": func(ctx context.Context) error { _, err := client.ObtainRead(ctx, keys, time.Minute, nil); return err },
		"mixed": func(ctx context.Context) error {
			_, err := client.ObtainSet(ctx, redislock.Set{Write: keys[:1], Read: keys[1:]}, time.Minute, nil)
			return err
		},
		"polling":  obtain(&redislock.Options{RetryStrategy: redislock.LinearBackoff(time.Millisecond), Wait: time.Minute}),
		"queue":    obtain(&redislock.Options{Queue: true}),
		"watchdog": obtain(&redislock.Options{Watchdog: true, Fenced: true}),
		"uptime": func(ctx context.Context) error {
			_, err := asks.Obtain(ctx, keys, time.Minute, &redislock.Options{Watchdog: true, Fenced: true})
			return err
		},
		"with":    func(ctx context.Context) error { return client.With(ctx, keys, time.Minute, nil, ignore) },
		"break":   func(ctx context.Context) error { _, err := client.Break(ctx, keys, ""); return err },
		"inspect": func(ctx context.Context) error { _, err := client.Inspect(ctx, keys); return err },
		"release": func(ctx context.Context) error { return client.Attach(keys, "token").Release(ctx) },
		"refresh": func(ctx context.Context) error { return client.Attach(keys, "token").Refresh(ctx, time.Minute) },
		"quorum":  func(ctx context.Context) error { return q.With(ctx, keys, time.Minute, nil, ignore) },
		"multi": func(ctx context.Context) error {
			return multi.With(ctx, multi.BySlot(client, redislock.Set{Write: keys}), time.Minute, nil, ignore)
		},
	}
}

// Whoever may not run scripts is told so, by every operation and before anything is locked, and asks once only.
func TestScriptsForbidden(t *testing.T) {
	t.Parallel()
	for _, kind := range redistest.Servers() {
		for name, f := range forbiddings() {
			t.Run(string(kind)+"/"+name, func(t *testing.T) {
				t.Parallel()
				admin, rdb, scripts := f.start(t, kind)
				for operation, run := range everything(t, rdb) {
					wantForbidden(t, operation, run(t.Context()), f.want)
				}
				if n := admin.DBSize(t.Context()).Val(); n != 0 {
					t.Errorf("%d keys are there, want none", n)
				}
				wantNoMore(t, rdb, scripts)
			})
		}
	}
}

func wantForbidden(t *testing.T, operation string, err error, want string) {
	t.Helper()
	switch {
	case err == nil:
		t.Errorf("%s: got no error", operation)
	case !errors.Is(err, errors.ErrUnsupported), errors.Is(err, redislock.ErrNotObtained), errors.Is(err, redislock.ErrUnknownOutcome):
		t.Errorf("%s: got error %v, want one that is not supported and nothing else", operation, err)
	case !strings.Contains(err.Error(), want), strings.Contains(err.Error(), "args beginning"):
		t.Errorf("%s: got error %v, want one that says %q", operation, err, want)
	}
}

// wantNoMore checks that an Obtain that was refused so has asked as often as it takes to know, and leaves nothing to be freed.
func wantNoMore(t *testing.T, rdb *redis.Client, scripts *atomic.Int64) {
	t.Helper()
	client := redislock.New(rdb)
	before := scripts.Load()
	_, err := client.Obtain(t.Context(), []string{"k"}, time.Minute, &redislock.Options{
		RetryStrategy: redislock.LinearBackoff(time.Millisecond),
	})
	check.Is(t, err, errors.ErrUnsupported)
	client.Close() // does what is still to be done
	if n := scripts.Load() - before; n > 2 {
		t.Errorf("got %d requests for scripts, want one, or EVALSHA and EVAL", n)
	}
}

// A lock that is held when the right is taken away is not lost before its deadline, and its Release says why it fails.
func TestScriptsForbiddenWhileHeld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		mini := redistest.PipeMini(t)
		client := world.NewClient(t, mini.Client(t))
		lock := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{"k"}, time.Minute, nil))
		mini.Miniredis().SetError("ERR unknown command 'evalsha'")
		wantForbidden(t, "refresh", lock.Refresh(t.Context(), time.Hour), noScripts)
		select {
		case <-lock.Lost():
			t.Error("the lock is lost")
		default:
		}
		mini.Miniredis().SetError("")
		check.NoError(t, lock.Release(t.Context()))
	})
}
