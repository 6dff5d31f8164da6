package redislockotel_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/redislockotel"
)

// A meter is hooks, and what they have measured.
type meter struct {
	hooks    redislock.Hooks
	reader   *metric.ManualReader
	provider *metric.MeterProvider
	spans    *tracetest.SpanRecorder
	tracers  *trace.TracerProvider
	memory   func() (holds, waits int)
}

func newMeter(t *testing.T, opts ...redislockotel.Option) *meter {
	t.Helper()
	m := &meter{reader: metric.NewManualReader(), spans: tracetest.NewSpanRecorder()}
	m.provider = metric.NewMeterProvider(metric.WithReader(m.reader))
	m.tracers = trace.NewTracerProvider(trace.WithSpanProcessor(m.spans))
	opts = append([]redislockotel.Option{
		redislockotel.WithMeterProvider(m.provider), redislockotel.WithTracerProvider(m.tracers),
	}, opts...)
	m.hooks, m.memory = redislockotel.Remembered(opts...)
	return m
}

// metrics collects all metrics.
func (m *meter) metrics(t *testing.T) []metricdata.Metrics {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := m.reader.Collect(context.Background(), &all); err != nil {
		t.Fatal(err)
	}
	var metrics []metricdata.Metrics
	for _, scope := range all.ScopeMetrics {
		metrics = append(metrics, scope.Metrics...)
	}
	return metrics
}

// lines says what was measured, a line for each point that is not 0, without what all names begin with.
func (m *meter) lines(t *testing.T) (lines []string) {
	t.Helper()
	add := func(name string, set attribute.Set, value string) {
		name = strings.TrimPrefix(name, "redislock.")
		lines = append(lines, strings.TrimPrefix(name, "lock.")+labels(set)+" "+value)
	}
	for _, metric := range m.metrics(t) {
		switch data := metric.Data.(type) {
		case metricdata.Sum[int64]:
			for _, p := range data.DataPoints {
				if p.Value != 0 {
					add(metric.Name, p.Attributes, fmt.Sprint(p.Value))
				}
			}
		case metricdata.Histogram[float64]:
			for _, p := range data.DataPoints {
				add(metric.Name, p.Attributes, fmt.Sprintf("%d in %v", p.Count, time.Duration(p.Sum*1e9).Round(time.Millisecond)))
			}
		default:
			t.Errorf("%s is a %T", metric.Name, data)
		}
	}
	slices.Sort(lines)
	return lines
}

// labels are the values of attributes, in the order of their names: error, mode, name, operation, way.
func labels(set attribute.Set) string {
	var values []string
	for _, a := range set.ToSlice() {
		values = append(values, a.Value.String())
	}
	return "{" + strings.Join(values, " ") + "}"
}

// want checks everything that was measured.
func (m *meter) want(t *testing.T, want ...string) {
	t.Helper()
	slices.Sort(want)
	if diff := cmp.Diff(want, m.lines(t)); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}

// A scene is what a course of events takes place in: a server in memory, and virtual time.
type scene struct {
	*meter
	mini   *redistest.Mini
	rdb    *redis.Client
	client *redislock.Client
}

// newClient makes a Client with the hooks.
func (s *scene) newClient(t *testing.T, opts ...redislock.ClientOption) *redislock.Client {
	t.Helper()
	client := redislock.New(s.rdb, append(opts, redislock.WithHooks(s.hooks))...)
	t.Cleanup(client.Close)
	return client
}

// obtain obtains "a" for writing, or what is named.
func (s *scene) obtain(t *testing.T, ttl time.Duration, opt redislock.Options, keys ...string) *redislock.Lock {
	t.Helper()
	if len(keys) == 0 {
		keys = []string{"a"}
	}
	return check.Must[*redislock.Lock](t)(s.client.Obtain(t.Context(), keys, ttl, &opt))
}

// inScene runs fn in a scene.
func inScene(t *testing.T, fn func(t *testing.T, s *scene), opts ...redislockotel.Option) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &scene{meter: newMeter(t, opts...), mini: redistest.PipeMini(t)}
		s.rdb = s.mini.Client(t)
		s.client = s.newClient(t)
		fn(t, s)
	})
}

// exemplar returns the span that the first exemplar of a histogram leads to.
func (m *meter) exemplar(t *testing.T, name string) (id oteltrace.SpanID) {
	t.Helper()
	for _, metric := range m.metrics(t) {
		if data, ok := metric.Data.(metricdata.Histogram[float64]); ok && metric.Name == name {
			for _, e := range data.DataPoints[0].Exemplars {
				copy(id[:], e.SpanID)
			}
		}
	}
	return id
}
