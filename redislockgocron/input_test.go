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
		"a Token would be one owner":                                     {opt: redislock.Options{Token: "me"}, ttl: year},
		"the function of WithKey is nil":                                 {key: redislockgocron.WithKey(nil), ttl: year},
		"a Locker asks once: RetryStrategy, Queue and":                   {opt: redislock.Options{Queue: true}, ttl: year},
		"a Locker asks once: RetryStrategy, Queue":                       {opt: redislock.Options{Intent: true}, ttl: year},
		"redislock: obtain: invalid metadata":                            {opt: redislock.Options{Metadata: strings.Repeat("x", 5000)}, ttl: year},
		"redislock: obtain: invalid Replicas: -1":                        {opt: redislock.Options{Replicas: -1}, ttl: year},
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
	if _, err := redislockgocron.NewLocker(held.Obtainer(nil), time.Second, nil); err == nil {
		t.Error("a nil client is taken")
	}
	if _, err := redislockgocron.NewLocker((*redislock.Client)(nil), time.Second, nil); err == nil {
		t.Error("a Client that is nil is taken")
	}
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
	client := redislock.New(redistest.StartMini(t).Client(t))
	defer client.Close()
	for want, candidate := range map[string]election.Candidate{
		"the Candidate has no Client":                     {Key: "leader", TTL: time.Second},
		"invalid keys: the Key of the Candidate is empty": {Client: client, TTL: time.Second},
		"redislock: obtain: invalid ttl: 0s is not":       {Client: client, Key: "leader"},
		"redislock: obtain: the Client is nil":            {Client: (*redislock.Client)(nil), Key: "leader", TTL: time.Second},
		"redislock: obtain: invalid metadata":             {Client: client, Key: "leader", TTL: time.Second, Metadata: strings.Repeat("x", 5000)},
		"redislock: obtain: invalid Replicas: -1":         {Client: client, Key: "leader", TTL: time.Second, Replicas: -1},
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
