package outcome_test

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/proto/decode"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// flaky breaks the connection of the first release, before it is sent, and shows the stamp of the latest
// Obtain.
type flaky struct {
	redis.Scripter
	broken bool
	stamp  decode.Stamp
}

func (f *flaky) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	switch decode.Sent(sha).Name() {
	case "release":
		if !f.broken {
			f.broken = true
			cmd := redis.NewCmd(ctx)
			cmd.SetErr(io.EOF)
			return cmd
		}
	case "obtain":
		words := []string{"evalsha", sha, strconv.Itoa(len(keys))}
		words = append(words, keys...)
		for _, arg := range args {
			words = append(words, fmt.Sprint(arg))
		}
		f.stamp = check.RunOf(words...).Stamp
	}
	return f.Scripter.EvalSha(ctx, sha, keys, args...)
}

// A token that nobody else knows leaves nothing behind in this process, which would be there for ever. As long as
// one is remembered of which a request was not answered, its requests have numbers greater than 0.
func TestBookForgetsReleased(t *testing.T) {
	t.Parallel()
	rdb := redistest.StartMini(t).Client(t)
	for _, shown := range []bool{false, true} {
		f := &flaky{Scripter: rdb}
		client := redislock.New(f)
		t.Cleanup(client.Close)
		lock, err := client.Obtain(t.Context(), []string{t.Name()}, time.Minute, nil)
		check.NoError(t, err)
		token := check.Must[string](t)(rdb.Get(t.Context(), t.Name()).Result())
		if shown {
			_ = lock.Token()
		}
		check.NoError(t, lock.Release(t.Context()))
		again, err := client.As(token).Obtain(t.Context(), []string{t.Name()}, time.Minute, nil)
		check.NoError(t, err)
		if kept := f.stamp.Number > 0; kept != shown || !f.stamp.Is {
			t.Errorf("kept: %t, shown to others: %t; the next Obtain has the stamp %v", kept, shown, f.stamp)
		}
		check.NoError(t, again.Release(t.Context()))
	}
}

// A refusing server allows no release.
type refusing struct {
	redis.Scripter
	releases int
}

// A noPermission is an error of the server.
type noPermission struct{}

func (noPermission) Error() string {
	return "NOPERM this user has no permissions to run the 'del' command"
}
func (noPermission) RedisError() {}

func (r *refusing) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	if decode.Sent(sha).Name() != "release" {
		return r.Scripter.EvalSha(ctx, sha, keys, args...)
	}
	r.releases++
	cmd := redis.NewCmd(ctx)
	cmd.SetErr(noPermission{})
	return cmd
}

// A Release that the server refuses for good is not asked for again, also not when the Client is closed, which is when clean-ups
// ask once more.
func TestRefusedReleaseIsNotAskedAgain(t *testing.T) {
	t.Parallel()
	r := &refusing{Scripter: redistest.StartMini(t).Client(t)}
	client := redislock.New(r)
	lock, err := client.Obtain(t.Context(), []string{t.Name()}, time.Minute, nil)
	check.NoError(t, err)
	if err := lock.Release(t.Context()); err == nil || !strings.Contains(err.Error(), "NOPERM") {
		t.Errorf("got error %v, want that of the server", err)
	}
	client.Close()
	if r.releases != 1 {
		t.Errorf("got %d releases, want 1", r.releases)
	}
}
