package redislockgocron_test

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
	"github.com/seed-14de3678/redislock/election"
	"github.com/seed-14de3678/redislock/held"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/quorum"
	"github.com/seed-14de3678/redislock/redislockgocron"
)

// What a Locker cannot work with is refused when it is made, because nobody looks at what gocron is told of each tick.
func TestNewLockerRefuses(t *testing.T) {
	t.Parallel()
	client := redislock.New(redistest.StartMini(t).Client(t))
	defer client.Close()
	const year = 365 * 24 * time.Hour
	for want, test := range map[string]struct {
		ttl time.Duration
		opt redislock.Options
		key redislockgocron.LockerOption
	}{
		"redislock: obtain: invalid ttl: 0s is not":                      {},
		"redislock: obtain: invalid ttl: -1s is not":                     {ttl: -time.Second},
		"redislock: obtain: invalid ttl: 8760h0m0.000000001s is not":     {ttl: year + 1},
		"redislock: obtain: invalid HoldAtLeast: -1ns is neither":        {opt: redislock.Options{HoldAtLeast: -1}, ttl: year},
		"redislock: obtain: invalid HoldAtLeast: 8760h0m0.000000001s is": {opt: redislock.Options{HoldAtLeast: year + 1}, ttl: year},
		"redislock: obtain: invalid Wait: -1ns is neither":               {opt: redislock.Options{Wait: -1}, ttl: year},
		"redislock: obtain: invalid Name: it has 129 bytes":              {opt: redislock.Options{Name: strings.Repeat("x", 129)}, ttl: year},
		"the function of WithKey is nil":                                 {key: redislockgocron.WithKey(nil), ttl: year},
		"a Locker asks once: RetryStrategy, Queue and":                   {opt: redislock.Options{Queue: true}, ttl: year},
		"a Locker asks once: RetryStrategy, Queue":                       {opt: redislock.Options{Intent: true}, ttl: year},
		"redislock: obtain: invalid metadata":                            {opt: redislock.Options{Metadata: strings.Repeat("x", 5000)}, ttl: year},
		"a Locker asks once: RetryStrategy":                              {opt: redislock.Options{RetryStrategy: redislock.NoRetry()}, ttl: year},
	} {
		var opts []redislockgocron.LockerOption
		if test.key != nil {
			opts = append(opts, test.key)
		}
		_, err := redislockgocron.NewLocker(client, test.ttl, &test.opt, opts...)
		if err == nil || !strings.HasPrefix(err.Error(), "redislockgocron: "+want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// So is a client that cannot work, or would not exclude anybody.
func TestNewLockerRefusesClients(t *testing.T) {
	t.Parallel()
	rdb := redistest.StartMini(t).Client(t)
	client, negative, young := redislock.New(rdb), redislock.New(rdb, redislock.WithReplicas(-1)), redislock.New(rdb, redislock.WithMinUptime(time.Minute))
	defer client.Close()
	nodes := check.Must[*quorum.Client](t)(quorum.New([]*redislock.Client{client}))
	defer nodes.Close()
	for _, test := range []struct {
		got  error
		want string
	}{
		{locker(held.Obtainer(nil)), "the client is nil"},
		{locker((*redislock.Client)(nil)), "redislock: obtain: the Client is nil"},
		{locker(negative), "redislock: obtain: invalid WithReplicas: -1"},
		{locker(young), "redislock: obtain: invalid ttl: 1h0m0s is longer than"},
		{locker(client.As("me")), "an Owner would be one for all machines and runs"},
		{locker(nodes.As("me")), "an Owner would be one for all machines and runs"},
	} {
		if test.got == nil || !strings.HasPrefix(test.got.Error(), "redislockgocron: "+test.want) {
			t.Errorf("got %v, want %q", test.got, test.want)
		}
	}
}

// locker returns the error of a Locker with a ttl of an hour.
func locker[L held.Lock](client interface {
	Obtain(ctx context.Context, keys []string, ttl time.Duration, opt *redislock.Options) (L, error)
},
) error {
	_, err := redislockgocron.NewLocker(client, time.Hour, nil)
	return err
}

// To find out costs no request.
func TestNewSendsNothing(t *testing.T) {
	t.Parallel()
	mini := redistest.StartMini(t)
	rdb := mini.Client(t)
	var asked atomic.Int64
	rdb.AddHook(check.Around{Instead: func(redis.Cmder) bool {
		asked.Add(1)
		return false
	}})
	client := redislock.New(rdb, redislock.WithHooks(redislock.Hooks{
		Obtained: func(context.Context, redislock.Event) { t.Error("a lock was obtained") },
	}))
	defer client.Close()
	if _, err := redislockgocron.NewLocker(client, time.Minute, &redislock.Options{Wait: time.Minute}); err != nil {
		t.Error(err)
	}
	if n := asked.Load(); n > 0 {
		t.Errorf("NewLocker has sent %d requests, want none", n)
	}
}

func TestNewElectorRefuses(t *testing.T) {
	t.Parallel()
	rdb := redistest.StartMini(t).Client(t)
	client, negative, young := redislock.New(rdb), redislock.New(rdb, redislock.WithReplicas(-1)), redislock.New(rdb, redislock.WithMinUptime(time.Minute))
	defer client.Close()
	for want, candidate := range map[string]election.Candidate{
		"the Candidate has no Client":                           {Key: "leader", TTL: time.Second},
		"invalid keys: the Key of the Candidate is empty":       {Client: client, TTL: time.Second},
		"redislock: obtain: invalid ttl: 0s is not":             {Client: client, Key: "leader"},
		"redislock: obtain: the Client is nil":                  {Client: (*redislock.Client)(nil), Key: "leader", TTL: time.Second},
		"redislock: obtain: invalid metadata":                   {Client: client, Key: "leader", TTL: time.Second, Metadata: strings.Repeat("x", 5000)},
		"redislock: obtain: invalid WithReplicas: -1":           {Client: negative, Key: "leader", TTL: time.Second},
		"redislock: obtain: invalid ttl: 1h0m0s is longer than": {Client: young, Key: "leader", TTL: time.Hour},
	} {
		_, err := redislockgocron.NewElector(candidate)
		if err == nil || !strings.HasPrefix(err.Error(), "redislockgocron: "+want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// A Locker can be made of whatever obtains locks.
func TestLockerClients(t *testing.T) {
	t.Parallel()
	synctest.Test(t, lockerClients) // where no answer comes too late
}

func lockerClients(t *testing.T) {
	mini := redistest.PipeMini(t)
	client := redislock.New(mini.Client(t))
	defer client.Close()
	nodes, err := quorum.New([]*redislock.Client{client})
	if err != nil {
		t.Fatal(err)
	}
	defer nodes.Close()
	made := func(locker *redislockgocron.Locker, err error) *redislockgocron.Locker {
		if err != nil {
			t.Fatal(err)
		}
		return locker
	}
	for name, locker := range map[string]*redislockgocron.Locker{
		"Client":   made(redislockgocron.NewLocker(client, time.Minute, nil)),
		"quorum":   made(redislockgocron.NewLocker(nodes, time.Minute, nil)),
		"Obtainer": made(redislockgocron.NewLocker(held.Of(nodes), time.Minute, nil)),
	} {
		lock, err := locker.Lock(t.Context(), name)
		if err != nil {
			t.Fatal(name, err)
		}
		other, err := locker.Lock(t.Context(), name)
		conflict, ok := errors.AsType[*redislock.ConflictError](err)
		if other != nil || !ok || conflict.Metadata != redislock.InstanceMetadata() {
			t.Errorf("%s: got %v, %v, want no lock, and a refusal that says who has it", name, other, err)
		}
		if held.FromContext(locker.Context(t.Context(), name)) == nil {
			t.Errorf("%s: the context has no lock", name)
		}
		over, cancel := context.WithCancel(t.Context())
		cancel()
		if err := lock.Unlock(over); err != nil {
			t.Error(name, err)
		}
		if mini.Miniredis().Exists("gocron:" + name) {
			t.Errorf("%s is locked", name)
		}
	}
}
