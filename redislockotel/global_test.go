package redislockotel_test

import (
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/otel"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/redislockotel"
)

// globalsAreSet is set once the global providers are: only the first ones replace those that do nothing.
var globalsAreSet atomic.Bool

// The global providers may be set after the hooks were made, as it happens to package variables.
func TestGlobalProviders(t *testing.T) {
	if globalsAreSet.Swap(true) {
		return
	}
	hooks := check.Must[redislock.Hooks](t)(redislockotel.Hooks(redislockotel.WithMeterProvider(nil), redislockotel.WithTracerProvider(nil)))
	m := newMeter(t)
	otel.SetMeterProvider(m.provider)
	otel.SetTracerProvider(m.tracers)
	e := redislock.Event{ID: 1, Name: "n", Mode: redislock.ModeWrite, Way: "once"}
	hooks.Obtained(t.Context(), e)
	m.want(t, "held{write n once} 1", "obtained{write n once} 1")
	e.Ended, e.Held = true, time.Second
	hooks.Released(t.Context(), e)
	m.want(t, "obtained{write n once} 1", "released{write n once} 1", "hold.duration{write n once} 1 in 1s")
	if got := len(m.spans.Ended()); got != 1 {
		t.Errorf("got %d spans, want 1", got)
	}
}
