package errors_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/fencing"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// What wraps a sentinel says which package speaks, once.
func TestTextsNameThePackage(t *testing.T) {
	t.Parallel()
	mini := redistest.StartMini(t)
	client := redislock.New(mini.Client(t))
	t.Cleanup(client.Close)
	unknown := client.With(t.Context(), []string{"a"}, time.Minute, nil, func(context.Context) error {
		mini.Miniredis().FlushAll()
		return nil
	})
	known := client.With(t.Context(), []string{"b"}, 10*time.Second, nil, func(ctx context.Context) error {
		mini.Miniredis().FlushAll()
		<-ctx.Done()
		return nil
	})
	_, missing := fencing.FromHeader(http.Header{})
	_, malformed := fencing.FromHeader(http.Header{fencing.Header: {"eight"}})
	var guard fencing.Guard
	for _, c := range []struct {
		err      error
		sentinel error
		begin    string
	}{
		{unknown, redislock.ErrLockLost, `redislock: lock lost: "a"`},
		{known, redislock.ErrLockLost, `redislock: lock lost: "b"`},
		{missing, fencing.ErrInvalidNumber, "fencing: invalid number: 0 header fields"},
		{malformed, fencing.ErrInvalidNumber, `fencing: invalid number: "eight"`},
		{guard.Admit("a", 0), fencing.ErrInvalidNumber, "fencing: invalid number: 0 is not"},
		{fencing.Set(t.Context(), mini.Client(t), "c", 0, "", 0), fencing.ErrInvalidNumber, "fencing: invalid number: 0 is not"},
		{errors.Join(guard.Admit("a", 2), guard.Admit("a", 1)), fencing.ErrStale, `fencing: stale number 1 for "a"`},
	} {
		check.Is(t, c.err, c.sentinel)
		name, _, _ := strings.Cut(c.begin, " ")
		if text := c.err.Error(); !strings.HasPrefix(text, c.begin) || strings.Contains(text, name+" "+name) {
			t.Errorf("got %q, want it to begin with %q", text, c.begin)
		}
	}
}

// Texts with a number are right for one as well.
func TestTextsForOne(t *testing.T) {
	rdb := redistest.StartMini(t).Client(t)
	client := redislock.New(rdb)
	t.Cleanup(client.Close)
	if _, err := client.Obtain(t.Context(), []string{"a"}, time.Minute, nil); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, waited := client.Obtain(ctx, []string{"a"}, time.Minute, &redislock.Options{RetryStrategy: redislock.LinearBackoff(time.Hour)})
	alone := redislock.New(redistest.Shared(t, redistest.Redis).Client(t), redislock.WithReplicas(1))
	t.Cleanup(alone.Close)
	_, few := alone.Obtain(t.Context(), []string{t.Name()}, time.Minute, nil)
	for want, err := range map[string]error{
		"and 1 attempt: ": waited, "0 of 1 replica acknowledged": few,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want it to say %q", err, want)
		}
	}
}

// What is invalid is said by its name, whatever is wrong with it.
func TestInvalid(t *testing.T) {
	rdb := redistest.StartMini(t).Client(t)
	client := redislock.New(rdb)
	t.Cleanup(client.Close)
	with := func(opt redislock.Options) error {
		_, err := client.Obtain(t.Context(), []string{"a"}, time.Minute, &opt)
		return err
	}
	as := func(token string) error {
		_, err := client.As(token).Obtain(t.Context(), []string{"a"}, time.Minute, nil)
		return err
	}
	of := func(opt redislock.ClientOption) error {
		_, err := redislock.New(rdb, opt).Obtain(t.Context(), []string{"a"}, time.Minute, nil)
		return err
	}
	_, none := client.Obtain(t.Context(), nil, time.Minute, nil)
	_, short := client.Obtain(t.Context(), []string{"a"}, 1, nil)
	_, long := redislock.New(rdb, redislock.WithMinUptime(time.Second)).Obtain(t.Context(), []string{"a"}, time.Minute, nil)
	_, caller := client.Obtain(redislock.WithCaller(t.Context(), "a b"), []string{"a"}, time.Minute, nil)
	_, reason := client.Break(t.Context(), []string{"a"}, strings.Repeat("x", 10_000))
	for _, c := range []struct {
		argument string
		err      error
	}{
		{"keys", none},
		{"ttl", short},
		{"ttl", long},
		{"reason", reason},
		{"token", as("|")},
		{"token", as("")},
		{"caller", caller},
		{"metadata", with(redislock.Options{Metadata: strings.Repeat("x", 5000)})},
		{"Name", with(redislock.Options{Name: strings.Repeat("x", 200)})},
		{"Wait", with(redislock.Options{Wait: 5})},
		{"HoldAtLeast", with(redislock.Options{HoldAtLeast: -1})},
		{"WithReplicas", of(redislock.WithReplicas(-1))},
		{"WithMinUptime", of(redislock.WithMinUptime(-1))},
	} {
		argument, err := c.argument, c.err
		got, ok := errors.AsType[*redislock.InvalidError](err)
		if !ok || got.Argument != argument || got.Reason == "" || !errors.Is(err, redislock.ErrInvalid) {
			t.Errorf("%s: got error %v", argument, err)
		}
		if !errors.Is(err, &redislock.InvalidError{Argument: argument}) || errors.Is(err, &redislock.InvalidError{Argument: "another"}) ||
			errors.Is(err, &redislock.InvalidError{Argument: argument, Reason: "another"}) {
			t.Errorf("%s: %v is another one", argument, err)
		}
	}
}
