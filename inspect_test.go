package redislock_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-14de3678/redislock"
)

func TestInspect(t *testing.T) {
	scenario(t, func(t *testing.T, w *world) {
		must[*redislock.Lock](t)(w.client.Obtain(t.Context(), w.keys("w"), long, &redislock.Options{Metadata: "writer"}))
		must[*redislock.Lock](t)(w.client.ObtainRead(t.Context(), w.keys("r"), long, &redislock.Options{Metadata: "one"}))
		last := must[*redislock.Lock](t)(w.client.ObtainRead(t.Context(), w.keys("r"), 2*long, &redislock.Options{Metadata: "two"}))
		noError(t, w.rdb.LPush(t.Context(), w.key("l"), "x").Err())
		ctx, cancel := context.WithCancel(t.Context())
		waiting := make(chan struct{})
		go func() {
			defer close(waiting)
			_, _ = w.client.Obtain(ctx, w.keys("r"), long, &redislock.Options{
				Metadata: "waiter", Intent: true, RetryStrategy: redislock.LinearBackoff(10 * time.Millisecond),
			})
		}()
		defer func() { cancel(); <-waiting }()
		var states []redislock.KeyState
		eventually(t, 5*time.Second, "the writer has declared its intent", func() bool {
			states = must[[]redislock.KeyState](t)(w.client.Inspect(t.Context(), w.keys("w", "r", "l", "free")...))
			return states[1].Intent != nil
		})
		for i := range states { // times are not the same twice
			s := &states[i]
			if s.Mode == redislock.ModeForeign && s.TTL >= 0 {
				t.Errorf("got ttl %v of a foreign key without one", s.TTL)
			}
			s.TTL = 0
			for j := range s.Holders {
				if s.Holders[j].TTL <= 0 {
					t.Errorf("got lease %v of %q", s.Holders[j].TTL, s.Holders[j].Metadata)
				}
				s.Holders[j].TTL = 0
			}
			if s.Intent != nil {
				s.Intent.TTL = 0
			}
		}
		want := []redislock.KeyState{
			{Key: w.key("w"), Mode: redislock.ModeWrite, Holders: []redislock.Holder{{Metadata: "writer"}}},
			{
				Key: w.key("r"), Mode: redislock.ModeRead,
				Holders: []redislock.Holder{{Metadata: "one"}, {Metadata: "two"}},
				Intent:  &redislock.Holder{Metadata: "waiter"},
			},
			{Key: w.key("l"), Mode: redislock.ModeForeign, Type: "list"},
			{Key: w.key("free"), Mode: redislock.ModeFree},
		}
		if diff := cmp.Diff(want, states); diff != "" {
			t.Errorf("states (-want +got):\n%s", diff)
		}
		if text := fmt.Sprintf("%+v", states); strings.Contains(text, last.Token()) {
			t.Error("Inspect shows a token")
		}
	})
}

func TestConflictError(t *testing.T) {
	for _, test := range []struct {
		err  redislock.ConflictError
		want string
	}{
		{
			redislock.ConflictError{Key: "stock:9", Mode: redislock.ModeWrite, Metadata: "host=web-3 pid=812 prog=shop", TTL: 27123 * time.Millisecond},
			`redislock: "stock:9" is write-locked by host=web-3 pid=812 prog=shop, 27.1s left`,
		},
		{
			redislock.ConflictError{Key: "a\nb", Mode: redislock.ModeRead, TTL: 1500 * time.Microsecond},
			`redislock: "a\nb" is read-locked, 2ms left`,
		},
		{
			redislock.ConflictError{Key: "k", Mode: redislock.ModeIntent, Metadata: "a\x00b", TTL: 0},
			`redislock: "k" is kept for a waiting writer, "a\x00b", 0s left`,
		},
		{
			redislock.ConflictError{Key: "k", Mode: redislock.ModeForeign, Type: "list", TTL: -1},
			`redislock: "k" holds a list that is no lock, without a TTL`,
		},
	} {
		if got := test.err.Error(); got != test.want {
			t.Errorf("got %s, want %s", got, test.want)
		}
	}
}

func TestKeyStateString(t *testing.T) {
	holders := []redislock.Holder{{Metadata: "host=a", TTL: 27123 * time.Millisecond}, {TTL: time.Second}}
	for _, test := range []struct {
		state redislock.KeyState
		want  string
	}{
		{redislock.KeyState{Key: "k", Mode: redislock.ModeFree}, `"k" is free`},
		{redislock.KeyState{Key: "k", Mode: redislock.ModeForeign, Type: "list"}, `"k" holds a list that is no lock`},
		{
			redislock.KeyState{Key: "k", Mode: redislock.ModeRead, Holders: holders, Intent: &holders[0]},
			`"k" is read-locked by host=a (27.1s left) and somebody (1s left); a writer waits: host=a (27.1s left)`,
		},
	} {
		if got := test.state.String(); got != test.want {
			t.Errorf("got %s, want %s", got, test.want)
		}
	}
}
