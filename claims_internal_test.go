package redislock

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// flaky breaks the connection of the next release, before it is sent.
type flaky struct {
	redis.Scripter
	broken bool
}

func (f *flaky) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	if sha == releaseScript.SHA() && !f.broken {
		f.broken = true
		cmd := redis.NewCmd(ctx)
		cmd.SetErr(io.EOF)
		return cmd
	}
	return f.Scripter.EvalSha(ctx, sha, keys, args...)
}

// A token that nobody else knows leaves nothing behind in the book, which would be there for ever.
func TestBookForgetsReleased(t *testing.T) {
	t.Parallel()
	rdb := redistest.StartMini(t).Client(t)
	for _, shown := range []bool{false, true} {
		client := New(&flaky{Scripter: rdb})
		t.Cleanup(client.Close)
		lock, err := client.Obtain(t.Context(), []string{t.Name()}, time.Minute, nil)
		if err != nil {
			t.Fatal(err)
		}
		if shown {
			_ = lock.Token()
		}
		if err := lock.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		if kept := owners.Knows(lock.token()); kept != shown {
			t.Errorf("kept: %t, shown to others: %t", kept, shown)
		}
	}
}
