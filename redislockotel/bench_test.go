package redislockotel_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/redislockotel"
)

// variants are what it costs to be told, and what to measure with.
var variants = []struct {
	name string
	opts func() []redislockotel.Option
}{
	{"nothing set up", func() []redislockotel.Option { return nil }},
	{"metrics", func() []redislockotel.Option {
		return []redislockotel.Option{redislockotel.WithMeterProvider(newProvider()), redislockotel.WithTracerProvider(tracenoop.NewTracerProvider())}
	}},
	{"metrics, spans not sampled", func() []redislockotel.Option {
		return []redislockotel.Option{redislockotel.WithMeterProvider(newProvider()), tracers(trace.NeverSample())}
	}},
	{"metrics, spans", func() []redislockotel.Option {
		return []redislockotel.Option{redislockotel.WithMeterProvider(newProvider()), tracers(trace.AlwaysSample())}
	}},
	{"spans", func() []redislockotel.Option {
		return []redislockotel.Option{redislockotel.WithMeterProvider(noop.NewMeterProvider()), tracers(trace.AlwaysSample())}
	}},
}

func newProvider() *metric.MeterProvider {
	return metric.NewMeterProvider(metric.WithReader(metric.NewManualReader()))
}

func tracers(sampler trace.Sampler) redislockotel.Option {
	return redislockotel.WithTracerProvider(trace.NewTracerProvider(trace.WithSampler(sampler), trace.WithSpanProcessor(discard{})))
}

// discard is a processor that does nothing with spans.
type discard struct{}

func (discard) OnStart(context.Context, trace.ReadWriteSpan) {}
func (discard) OnEnd(trace.ReadOnlySpan)                     {}
func (discard) Shutdown(context.Context) error               { return nil }
func (discard) ForceFlush(context.Context) error             { return nil }

// BenchmarkHooks is what the hooks alone take for a lock that is obtained and released.
func BenchmarkHooks(b *testing.B) {
	for _, v := range variants {
		b.Run(v.name, func(b *testing.B) {
			hooks := mustHooks(b, v.opts())
			e := redislock.Event{Keys: []string{"a"}, Mode: redislock.ModeWrite, Name: "order", Way: "once", Attempts: 1}
			b.ReportAllocs()
			for b.Loop() {
				e.ID++
				e.Ended, e.Held = false, 0
				hooks.Obtained(b.Context(), e)
				e.Ended, e.Held = true, time.Millisecond
				hooks.Released(b.Context(), e)
			}
		})
	}
}

// BenchmarkObtain obtains and releases a lock with hooks and without, in short turns, so that both have the same machine. It
// reports the median turn of each, by lock, and what is with hooks as a share of what is without: time and allocations.
func BenchmarkObtain(b *testing.B) {
	for _, kind := range []redistest.Kind{redistest.Miniredis, redistest.Redis} {
		for _, v := range variants {
			b.Run(fmt.Sprintf("%s/%s", kind, v.name), func(b *testing.B) {
				rdb := redistest.Shared(b, kind).Client(b)
				bare := redislock.New(rdb)
				told := redislock.New(rdb, redislock.WithHooks(mustHooks(b, v.opts())))
				opt := &redislock.Options{Name: "order"}
				var took [2][]float64
				var allocated [2]uint64
				const turn = 20
				for b.Loop() {
					for i, client := range []*redislock.Client{bare, told} {
						allocations, began := mallocs(), time.Now()
						for range turn {
							lock, err := client.Obtain(b.Context(), []string{"bench"}, time.Minute, opt)
							if err != nil {
								b.Fatal(err)
							}
							if err := lock.Release(b.Context()); err != nil {
								b.Fatal(err)
							}
						}
						took[i] = append(took[i], float64(time.Since(began))/turn)
						allocated[i] += mallocs() - allocations
					}
				}
				without, with := median(took[0]), median(took[1])
				b.ReportMetric(without, "ns-without/lock")
				b.ReportMetric(with, "ns-with/lock")
				b.ReportMetric(with/without, "time-ratio")
				b.ReportMetric(float64(allocated[1])/float64(allocated[0]), "allocs-ratio")
			})
		}
	}
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

func mallocs() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}

func mustHooks(b *testing.B, opts []redislockotel.Option) redislock.Hooks {
	b.Helper()
	hooks, err := redislockotel.Hooks(opts...)
	if err != nil {
		b.Fatal(err)
	}
	return hooks
}

// BenchmarkCollect collects the metrics while many locks are held, half of which end by themselves.
func BenchmarkCollect(b *testing.B) {
	for _, held := range []int{100, 10_000} {
		b.Run(fmt.Sprint(held), func(b *testing.B) {
			reader := metric.NewManualReader()
			hooks := mustHooks(b, []redislockotel.Option{
				redislockotel.WithMeterProvider(metric.NewMeterProvider(metric.WithReader(reader))),
				redislockotel.WithTracerProvider(tracenoop.NewTracerProvider()),
			})
			for i := range held {
				e := redislock.Event{ID: uint64(i), Name: "order", Mode: redislock.ModeWrite, Way: "once"}
				if i%2 == 0 {
					e.Expires = time.Now().Add(time.Hour)
				}
				hooks.Obtained(b.Context(), e)
			}
			b.ReportAllocs()
			for b.Loop() {
				var all metricdata.ResourceMetrics
				if err := reader.Collect(b.Context(), &all); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
