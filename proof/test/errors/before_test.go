package errors_test

import (
	"context"
	"errors"
	"log/slog"
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

// Who gives up while its subscription fails says why nobody has told it anything.
func TestWhyNothingWasHeard(t *testing.T) {
	world.Bubble(t, func(t *testing.T, _ *world.World, _ *redistest.Mini, _ *world.Journal) {
		p := &world.FakeServer{Script: func(run check.Run) string {
			if world.AsksFirst(run) {
				return world.HeldBySomebody
			}
			return ":1\r\n"
		}}
		p.Subscribe = func(int, string) string { return "-LOADING not yet\r\n" }
		client := world.NewClient(t, p.Client(t))
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
		defer cancel()
		_, err := client.Obtain(ctx, []string{"k"}, time.Minute, &redislock.Options{Queue: true, RetryStrategy: redislock.LinearBackoff(10 * time.Second)})
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "subscribe: ") || !strings.Contains(err.Error(), "LOADING") {
			t.Errorf("got %v, want that of ctx, and that of the subscription", err)
		}
	})
}

// A log says that the outcome of an Obtain is not known, also where nobody looks at its error.
func TestUnknownOutcomeIsLogged(t *testing.T) {
	world.Bubble(t, func(t *testing.T, _ *world.World, _ *redistest.Mini, _ *world.Journal) {
		log := new(check.Log)
		p := &world.FakeServer{Script: func(check.Run) string { return "" }}
		client := redislock.New(p.Client(t), redislock.WithLogger(slog.New(log)))
		defer client.Close()
		_, err := client.Obtain(t.Context(), []string{"k"}, time.Minute, nil)
		check.Is(t, err, redislock.ErrUnknownOutcome)
		if got := log.At(slog.LevelWarn); len(got) != 1 || !strings.Contains(got[0], "outcome of obtain is not known") {
			t.Errorf("got warnings %q, want one of the outcome", got)
		}
	})
}

// What replicas have not confirmed is the reason, if the context ends before the next attempt, and not who was in the way before.
func TestNotReplicatedBeforeTheEnd(t *testing.T) {
	for answer, want := range map[string]string{"": "0 of 1 replica acknowledged", "-LOADING not yet\r\n": "LOADING"} {
		t.Run(want, func(t *testing.T) {
			world.Bubble(t, func(t *testing.T, _ *world.World, _ *redistest.Mini, _ *world.Journal) {
				asked := 0
				p := &world.FakeServer{Wait: answer, Script: func(check.Run) string {
					if asked++; asked == 1 {
						return world.HeldBySomebody
					}
					return ":1\r\n"
				}}
				client := world.NewClient(t, p.Client(t), redislock.WithReplicas(1))
				ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
				defer cancel()
				_, err := client.Obtain(ctx, []string{"k"}, time.Minute, &redislock.Options{RetryStrategy: redislock.LinearBackoff(10 * time.Second)})
				check.Is(t, err, context.DeadlineExceeded, redislock.ErrNotReplicated)
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want it to say %q", err, want)
				}
			})
		})
	}
}

// Keys that the server takes for those of several slots are a mistake of the caller, also where the Client could not know.
func TestServerFindsSeveralSlots(t *testing.T) {
	world.Bubble(t, func(t *testing.T, _ *world.World, _ *redistest.Mini, _ *world.Journal) {
		p := &world.FakeServer{Script: func(check.Run) string { return "-CROSSSLOT Keys in request don't hash to the same slot\r\n" }}
		_, err := world.NewClient(t, p.Client(t)).Obtain(t.Context(), []string{"a", "b"}, time.Minute, nil)
		check.Is(t, err, redislock.ErrCrossSlot)
	})
}
