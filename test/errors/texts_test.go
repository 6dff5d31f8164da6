package errors_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// Texts with a number are right for one as well.
func TestTextsForOne(t *testing.T) {
	rdb := redistest.StartMini(t).Client(t)
	client := redislock.New(rdb, redislock.WithMaxMetadata(0))
	t.Cleanup(client.Close)
	if _, err := client.Obtain(t.Context(), []string{"a"}, time.Minute, nil); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, waited := client.Obtain(ctx, []string{"a"}, time.Minute, &redislock.Options{RetryStrategy: redislock.LinearBackoff(time.Hour)})
	_, long := client.Obtain(t.Context(), []string{"b"}, time.Minute, &redislock.Options{Metadata: "m"})
	alone := redislock.New(redistest.Shared(t, redistest.Redis).Client(t))
	t.Cleanup(alone.Close)
	_, few := alone.Obtain(t.Context(), []string{t.Name()}, time.Minute, &redislock.Options{Replicas: 1})
	for want, err := range map[string]error{
		"and 1 attempt: ": waited, "has 1 byte,": long, "0 of 1 replica acknowledged": few,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want it to say %q", err, want)
		}
	}
}
