package redislockotel_test

import (
	"context"
	"fmt"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/locktest"
	"github.com/seed-14de3678/redislock/redislockotel"
)

// Who waits and who holds a lock at the moment, and what has become of those before. In a program the provider is the
// global one, and has an exporter in the place of the reader.
func Example() {
	rdb, stop := locktest.Start()
	defer stop()

	reader := metric.NewManualReader()
	provider := metric.NewMeterProvider(metric.WithReader(reader))
	hooks, err := redislockotel.Hooks(redislockotel.WithMeterProvider(provider))
	if err != nil {
		fmt.Println(err)
		return
	}
	client := redislock.New(rdb, redislock.WithHooks(hooks))
	defer client.Close()

	ctx := context.Background()
	named := &redislock.Options{Name: "order"} // a name for all orders, without a number
	err = client.With(ctx, []string{"lock:order:7"}, 10*time.Second, named, func(ctx context.Context) error {
		_, err := client.Obtain(ctx, []string{"lock:order:7"}, 10*time.Second, named)
		fmt.Println("the second one:", err != nil)
		show(reader)
		return nil
	})
	if err != nil {
		fmt.Println(err)
	}
	show(reader)
	// Output:
	// the second one: true
	// redislock.lock.held: 1
	// redislock.lock.obtained: 1
	// redislock.lock.refused: 1
	// redislock.lock.hold.duration: 1 measured
	// redislock.lock.obtained: 1
	// redislock.lock.refused: 1
	// redislock.lock.released: 1
}

// show collects what was measured, and prints what is not 0.
func show(reader *metric.ManualReader) {
	var all metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &all); err != nil {
		fmt.Println(err)
		return
	}
	var lines []string
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					if p.Value != 0 {
						lines = append(lines, fmt.Sprintf("%s: %d", m.Name, p.Value))
					}
				}
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					lines = append(lines, fmt.Sprintf("%s: %d measured", m.Name, p.Count))
				}
			}
		}
	}
	slices.Sort(lines)
	for _, line := range lines {
		fmt.Println(line)
	}
}

// One call for the program, and the global providers.
func ExampleHooks() {
	rdb, stop := locktest.Start()
	defer stop()

	hooks, err := redislockotel.Hooks()
	if err != nil {
		fmt.Println(err)
		return
	}
	client := redislock.New(rdb, redislock.WithHooks(hooks))
	defer client.Close()

	err = client.With(context.Background(), []string{"lock:order:7"}, 10*time.Second, &redislock.Options{
		Name: "order", // a name for all orders, without a number
	}, func(context.Context) error {
		fmt.Println("the order is ours")
		return nil
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output: the order is ours
}

// Hooks of one's own come behind these.
func ExampleHooks_joined() {
	rdb, stop := locktest.Start()
	defer stop()

	hooks, err := redislockotel.Hooks()
	if err != nil {
		fmt.Println(err)
		return
	}
	told := make(chan struct{})
	client := redislock.New(rdb, redislock.WithHooks(hooks, redislock.Hooks{
		Lost: func(_ context.Context, e redislock.Event) {
			fmt.Printf("%s was lost: somebody has to look\n", e.Name)
			close(told)
		},
	}))
	defer client.Close()

	ctx := context.Background()
	_ = client.With(ctx, []string{"lock:order:7"}, 500*time.Millisecond, &redislock.Options{Name: "order"},
		func(ctx context.Context) error {
			rdb.Del(ctx, "lock:order:7") // somebody meddles
			<-ctx.Done()
			return nil
		})
	<-told // a moment after the context has ended
	// Output: order was lost: somebody has to look
}

// The span of a lock that was lost says why, and with which keys and number it was held.
func ExampleWithTracerProvider() {
	rdb, stop := locktest.Start()
	defer stop()

	spans := tracetest.NewSpanRecorder()
	hooks, err := redislockotel.Hooks(
		redislockotel.WithTracerProvider(trace.NewTracerProvider(trace.WithSpanProcessor(spans))),
		redislockotel.WithMeterProvider(noop.NewMeterProvider()), // no metrics
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	client := redislock.New(rdb, redislock.WithHooks(hooks), redislock.WithBreakNotices())
	defer client.Close()

	ctx := context.Background()
	keys := []string{"lock:order:7"}
	_ = client.With(ctx, keys, 10*time.Second, &redislock.Options{Name: "order"}, func(ctx context.Context) error {
		for rdb.PubSubNumSub(ctx, "redislock:break").Val()["redislock:break"] == 0 {
			time.Sleep(time.Millisecond) // the subscription takes a moment
		}
		_, err := client.Break(ctx, keys, "stuck")
		<-ctx.Done()
		for len(spans.Ended()) == 0 {
			time.Sleep(time.Millisecond) // the hooks are told next
		}
		return err
	})
	for _, span := range spans.Ended() {
		fmt.Println(span.Name()+":", span.Status().Code, span.Status().Description)
	}
	// Output: hold order: Error broken
}

// The keys of a lock may say more than readers of the spans are to know. This option is for programs where they do not.
func ExampleWithKeys() {
	rdb, stop := locktest.Start()
	defer stop()

	spans := tracetest.NewSpanRecorder()
	hooks, err := redislockotel.Hooks(redislockotel.WithKeys(),
		redislockotel.WithTracerProvider(trace.NewTracerProvider(trace.WithSpanProcessor(spans))))
	if err != nil {
		fmt.Println(err)
		return
	}
	client := redislock.New(rdb, redislock.WithHooks(hooks))
	defer client.Close()

	ctx := context.Background()
	lock, err := client.Obtain(ctx, []string{"lock:order:7", "lock:stock:9"}, 10*time.Second, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = lock.Release(ctx)
	for _, span := range spans.Ended() {
		for _, a := range span.Attributes() {
			if a.Key == "redislock.lock.keys" {
				fmt.Println(span.Name(), a.Value.AsStringSlice())
			}
		}
	}
	// Output: hold lock [lock:order:7 lock:stock:9]
}

// Without an exporter of metrics.
func ExampleWithMeterProvider() {
	rdb, stop := locktest.Start()
	defer stop()

	hooks, err := redislockotel.Hooks(redislockotel.WithMeterProvider(noop.NewMeterProvider())) // spans alone
	if err != nil {
		fmt.Println(err)
		return
	}
	client := redislock.New(rdb, redislock.WithHooks(hooks))
	defer client.Close()

	lock, err := client.Obtain(context.Background(), []string{"lock:order:7"}, 10*time.Second, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(lock.Release(context.Background()))
	// Output: <nil>
}

// Two Redis servers in one program: which one has errors?
func ExampleWithAttributes() {
	rdb, stop := locktest.Start()
	defer stop()

	reader := metric.NewManualReader()
	provider := metric.NewMeterProvider(metric.WithReader(reader))
	hooks, err := redislockotel.Hooks(redislockotel.WithMeterProvider(provider),
		redislockotel.WithAttributes(attribute.String("server.address", "redis-orders")))
	if err != nil {
		fmt.Println(err)
		return
	}
	client := redislock.New(rdb, redislock.WithHooks(hooks))
	defer client.Close()

	lock, err := client.Obtain(context.Background(), []string{"lock:order:7"}, 10*time.Second, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer lock.Release(context.Background())
	var all metricdata.ResourceMetrics
	_ = reader.Collect(context.Background(), &all)
	for _, m := range all.ScopeMetrics[0].Metrics {
		if data, ok := m.Data.(metricdata.Sum[int64]); ok && m.Name == "redislock.lock.held" {
			address, _ := data.DataPoints[0].Attributes.Value("server.address")
			fmt.Println(address.AsString(), data.DataPoints[0].Value)
		}
	}
	// Output: redis-orders 1
}
