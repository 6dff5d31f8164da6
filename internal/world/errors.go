package world

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
)

// WantConflict checks that the error is a conflict on the key, and returns it.
func WantConflict(t *testing.T, err error, key string, mode redislock.Mode) redislock.ConflictError {
	t.Helper()
	var conflict *redislock.ConflictError
	if !errors.As(err, &conflict) || !errors.Is(err, redislock.ErrNotObtained) {
		t.Fatalf("got error %v, want a conflict", err)
	}
	if conflict.Key != key || conflict.Mode != mode {
		t.Fatalf("got conflict on %q, mode %q; want %q, %q", conflict.Key, conflict.Mode, key, mode)
	}
	return *conflict
}

// WantUnsent checks that fn fails with target and sends nothing.
func WantUnsent(t *testing.T, rdb interface{ AddHook(redis.Hook) }, target error, fn func() error) {
	t.Helper()
	sent := check.Count(rdb, "")
	err := fn()
	check.Is(t, err, target)
	if n := sent.Load(); n != 0 {
		t.Errorf("%d commands were sent before the error %v", n, err)
	}
}

// WantUnknownOutcome checks that the error is ErrUnknownOutcome with its cause, and not ErrNotObtained.
func WantUnknownOutcome(t *testing.T, err error) {
	t.Helper()
	check.Is(t, err, redislock.ErrUnknownOutcome)
	if errors.Is(err, redislock.ErrNotObtained) {
		t.Errorf("got error %v, want one that is not ErrNotObtained", err)
	}
	if _, ok := errors.AsType[net.Error](err); !ok && !errors.Is(err, io.EOF) && !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v, want its cause in it", err)
	}
}

// WantSpanningRefused checks that a set with keys in more than one slot is refused, and that the error names two such
// keys.
func WantSpanningRefused(t *testing.T, rdb interface {
	redis.Scripter
	AddHook(redis.Hook)
},
) {
	t.Helper()
	client := redislock.New(rdb)
	t.Cleanup(client.Close)
	keys := []string{"{x}a", "{x}b", "{y}c"}
	for name, do := range map[string]func() error{
		"obtain": func() error { _, err := client.Obtain(t.Context(), keys, Long, nil); return err },
		"read":   func() error { _, err := client.ObtainRead(t.Context(), keys, Long, nil); return err },
		"mixed": func() error {
			_, err := client.ObtainSet(t.Context(), redislock.Set{Write: keys[:2], Read: keys[2:]}, Long, nil)
			return err
		},
		"with": func() error {
			return client.With(t.Context(), keys, Long, nil, func(context.Context) error { return nil })
		},
		"attached": func() error { return client.Attach(keys, "t").Release(t.Context()) },
	} {
		var err error
		WantUnsent(t, rdb, redislock.ErrCrossSlot, func() error { err = do(); return err })
		if !strings.Contains(err.Error(), `"{x}a"`) || !strings.Contains(err.Error(), `"{y}c"`) {
			t.Errorf("%s: got error %v, want one that names two keys which disagree", name, err)
		}
	}
}
