package errors_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// Who gives up while nobody answers says what the server had answered before: that is what is wrong with it.
func TestWhatWasWrongBefore(t *testing.T) {
	world.Bubble(t, func(t *testing.T, _ *world.World, _ *redistest.Mini, _ *world.Journal) {
		began := time.Now()
		p := &world.FakeServer{Script: func(check.Run) string {
			if time.Since(began) < 10*time.Second {
				return "-LOADING not yet\r\n"
			}
			return "" // never
		}}
		client := world.NewClient(t, p.Client(t))
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
		defer cancel()
		_, err := client.Obtain(ctx, []string{"k"}, time.Minute, &redislock.Options{RetryStrategy: redislock.LinearBackoff(6 * time.Second)})
		if !errors.Is(err, redislock.ErrUnknownOutcome) || !strings.Contains(err.Error(), "before that") || !strings.Contains(err.Error(), "LOADING") {
			t.Errorf("got %v, want an unknown outcome, and LOADING before that", err)
		}
	})
}
