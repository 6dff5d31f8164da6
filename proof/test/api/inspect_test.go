package api_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/world"
)

func TestInspect(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("w"), world.Long, &redislock.Options{Metadata: "writer"}))
		check.Must[*redislock.Lock](t)(w.Client.ObtainRead(t.Context(), w.Keys("r"), world.Long, &redislock.Options{Metadata: "one"}))
		last := check.Must[*redislock.Lock](t)(w.Client.ObtainRead(t.Context(), w.Keys("r"), 2*world.Long, &redislock.Options{Metadata: "two"}))
		check.NoError(t, w.RDB.LPush(t.Context(), w.Key("l"), "x").Err())
		ctx, cancel := context.WithCancel(t.Context())
		waiting := make(chan struct{})
		go func() {
			defer close(waiting)
			_, _ = w.Client.Obtain(ctx, w.Keys("r"), world.Long, &redislock.Options{
				Metadata: "waiter", Intent: true, RetryStrategy: redislock.LinearBackoff(10 * time.Millisecond),
			})
		}()
		defer func() { cancel(); <-waiting }()
		var states []redislock.KeyState
		check.Eventually(t, 5*time.Second, "the writer has declared its intent", func() bool {
			states = check.Must[[]redislock.KeyState](t)(w.Client.Inspect(t.Context(), w.Keys("w", "r", "l", "free")))
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
				s.Holders[j].TTL, s.Holders[j].Since = 0, time.Time{}
			}
			if s.Intent != nil {
				s.Intent.TTL, s.Intent.Since = 0, time.Time{}
			}
		}
		holder := func(key string, mode redislock.Mode, metadata string) redislock.Holder {
			return redislock.Holder{Key: w.Key(key), Mode: mode, Metadata: metadata}
		}
		intent := holder("r", redislock.ModeIntent, "waiter")
		want := []redislock.KeyState{
			{Key: w.Key("w"), Mode: redislock.ModeWrite, Holders: []redislock.Holder{holder("w", redislock.ModeWrite, "writer")}},
			{
				Key: w.Key("r"), Mode: redislock.ModeRead,
				Holders: []redislock.Holder{holder("r", redislock.ModeRead, "one"), holder("r", redislock.ModeRead, "two")},
				Intent:  &intent,
			},
			{Key: w.Key("l"), Mode: redislock.ModeForeign, Type: "list"},
			{Key: w.Key("free"), Mode: redislock.ModeFree},
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
			`redislock: "stock:9" is write-locked by host=web-3 pid=812 prog=shop, 27s left`,
		},
		{
			redislock.ConflictError{Key: "a\nb", Mode: redislock.ModeRead, TTL: 1500 * time.Microsecond},
			`redislock: "a\nb" is read-locked by a holder that says nothing of itself, 1.5ms left`,
		},
		{
			redislock.ConflictError{Key: "k", Mode: redislock.ModeIntent, Metadata: "a\x00b", TTL: 0},
			`redislock: "k" is kept for a waiting writer, "a\x00b", 0s left`,
		},
		{
			redislock.ConflictError{Key: "k", Mode: redislock.ModeForeign, Type: "list", TTL: -1},
			`redislock: "k" is foreign: it holds a list that is no lock, without a TTL`,
		},
		{
			redislock.ConflictError{Key: "k", Mode: redislock.ModeQueue, TTL: time.Second},
			`redislock: "k" is kept for those who stand in line, 1.0s left`,
		},
		{
			redislock.ConflictError{Key: "k", Mode: redislock.ModeQueue, Metadata: "\xff", Caller: "me", TTL: time.Second},
			`redislock: "k" is kept for those who stand in line, before all for "\xff" caller=me, 1.0s left`,
		},
		{
			redislock.ConflictError{Key: "k", Mode: redislock.ModeRestarted, TTL: time.Minute},
			`redislock: "k" is on a server that has restarted, 1m00s left`,
		},
		{
			redislock.ConflictError{Key: "k", Mode: redislock.ModeWrite, Caller: "me", TTL: time.Second, Own: true},
			`redislock: "k" is write-locked by caller=me, 1.0s left; the caller holds it itself, and would wait for its own lock: see package reentrant`,
		},
	} {
		if got := test.err.Error(); got != test.want {
			t.Errorf("got %s, want %s", got, test.want)
		}
	}
}

func TestKeyStateString(t *testing.T) {
	holders := []redislock.Holder{{Metadata: "host=a", TTL: 27123 * time.Millisecond}, {TTL: time.Second}}
	line := []redislock.Waiter{
		{Mode: redislock.ModeWrite, Caller: "me", Since: time.Unix(0, 0), Alive: true}, {Mode: redislock.ModeRead, Since: time.Unix(1, 0)},
	}
	for _, test := range []struct {
		state redislock.KeyState
		want  string
	}{
		{redislock.KeyState{Key: "k", Mode: redislock.ModeFree}, `"k" is free`},
		{redislock.KeyState{Key: "k", Mode: redislock.ModeForeign, Type: "list"}, `"k" is foreign: it holds a list that is no lock`},
		{
			redislock.KeyState{Key: "k", Mode: redislock.ModeRead, Holders: holders, Intent: &holders[0]},
			`"k" is read-locked by host=a (27s left) and somebody (1.0s left); a writer waits: host=a (27s left)`,
		},
		{
			redislock.KeyState{Key: "k", Mode: redislock.ModeFree, Line: line},
			`"k" is free; in line: caller=me to write since 1970-01-01T00:00:00Z, somebody, gone, to read since 1970-01-01T00:00:01Z`,
		},
	} {
		if got := test.state.String(); got != test.want {
			t.Errorf("got %s, want %s", got, test.want)
		}
	}
}
