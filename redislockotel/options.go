package redislockotel

import (
	"slices"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

// An Option changes what [Hooks] makes.
type Option func(*config)

type config struct {
	meters     metric.MeterProvider
	tracers    trace.TracerProvider
	attributes []attribute.KeyValue
	keys       bool
}

// newConfig applies the options. A nil option does nothing.
func newConfig(opts []Option) *config {
	c := &config{}
	for _, opt := range opts {
		if opt != nil {
			opt(c)
		}
	}
	if c.meters == nil {
		c.meters = otel.GetMeterProvider()
	}
	if c.tracers == nil {
		c.tracers = otel.GetTracerProvider()
	}
	return c
}

func (c *config) meter() metric.Meter {
	return c.meters.Meter(scope, metric.WithInstrumentationVersion(version))
}

func (c *config) tracer() trace.Tracer {
	return c.tracers.Tracer(scope, trace.WithInstrumentationVersion(version))
}

// WithMeterProvider makes the metrics with this provider; with a provider of package
// go.opentelemetry.io/otel/metric/noop there are none. Default: the global one, also if that is set later.
func WithMeterProvider(p metric.MeterProvider) Option { return func(c *config) { c.meters = p } }

// WithTracerProvider makes the spans with this provider; with a provider of package
// go.opentelemetry.io/otel/trace/noop there are none. Default: the global one, also if that is set later.
func WithTracerProvider(p trace.TracerProvider) Option { return func(c *config) { c.tracers = p } }

// WithAttributes adds attributes to all metrics and spans. They tell Clients apart, for example the nodes of a
// quorum. Default: none.
func WithAttributes(attributes ...attribute.KeyValue) Option {
	attributes = slices.Clone(attributes)
	return func(c *config) { c.attributes = append(c.attributes, attributes...) }
}

// WithKeys shows the keys of a lock in its spans, and the text of an error in their status. That text names
// keys, too, and the metadata of their holders. All of this goes where the spans go, so think of what your keys
// contain. Metrics never have keys. Default: spans show neither.
func WithKeys() Option { return func(c *config) { c.keys = true } }
