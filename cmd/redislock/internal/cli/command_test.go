package cli

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/seed-14de3678/redislock/internal/redistest"
)

func TestMain(m *testing.M) {
	Reachable = time.Minute
	redistest.Main(m)
}

func TestInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := Command{Name: "wait", Define: func(*pflag.FlagSet) Action {
		return func(ctx context.Context, _ Streams, _ []string) error { return context.Cause(ctx) }
	}}
	tool := Tool{Name: "redislock", Commands: []Command{c}}
	var out, stderr bytes.Buffer
	if got := tool.Run(ctx, Streams{Out: &out, Err: &stderr}, []string{"wait"}); got != Interrupted {
		t.Errorf("exit status %d, want %d", got, Interrupted)
	}
	if got, want := stderr.String(), "redislock wait: interrupted\n"; got != want {
		t.Errorf("stderr is %q, want %q", got, want)
	}
}
