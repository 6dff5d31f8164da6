package redislockotel

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// The attributes of metrics and spans.
const (
	nameKey      = attribute.Key("redislock.lock.name")
	modeKey      = attribute.Key("redislock.lock.mode")
	wayKey       = attribute.Key("redislock.lock.way")
	operationKey = attribute.Key("redislock.operation.name")
	errorKey     = attribute.Key("error.type")
)

// The operations at which a server can fail.
const (
	obtaining  = "obtain"
	refreshing = "refresh"
	releasing  = "release"
)

// Locks wait for milliseconds or for minutes, and are held for as long as the work takes.
var (
	waitBounds = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}
	holdBounds = []float64{.001, .005, .01, .05, .1, .5, 1, 5, 10, 30, 60, 300, 900, 3600, 21600, 86400}
)

// instruments are what the hooks measure with.
type instruments struct {
	waits, holds               metric.Float64Histogram
	obtains, refusals          metric.Int64Counter
	releases, losses, failures metric.Int64Counter
	waitingNow, heldNow        metric.Int64ObservableUpDownCounter
	expired                    metric.Int64ObservableCounter
}

// create makes the instruments.
func (o *observer) create(meter metric.Meter) error {
	var errs [11]error
	seconds := metric.WithUnit("s")
	locks, requests := metric.WithUnit("{lock}"), metric.WithUnit("{request}")
	o.waitingNow, errs[0] = meter.Int64ObservableUpDownCounter("redislock.lock.waiting", requests,
		metric.WithDescription("Obtains that wait at the moment."))
	o.heldNow, errs[1] = meter.Int64ObservableUpDownCounter("redislock.lock.held", locks,
		metric.WithDescription("Locks that are held at the moment."))
	o.waits, errs[2] = meter.Float64Histogram("redislock.lock.wait.duration", seconds,
		metric.WithDescription("How long an Obtain has waited, if it had to."), metric.WithExplicitBucketBoundaries(waitBounds...))
	o.holds, errs[3] = meter.Float64Histogram("redislock.lock.hold.duration", seconds,
		metric.WithDescription("How long a lock was held, until it was released or lost."), metric.WithExplicitBucketBoundaries(holdBounds...))
	o.obtains, errs[4] = meter.Int64Counter("redislock.lock.obtained", locks,
		metric.WithDescription("Locks that were obtained."))
	o.refusals, errs[5] = meter.Int64Counter("redislock.lock.refused", requests,
		metric.WithDescription("Obtains that have ended without a lock."))
	o.releases, errs[6] = meter.Int64Counter("redislock.lock.released", locks,
		metric.WithDescription("Locks that were released or left."))
	o.losses, errs[7] = meter.Int64Counter("redislock.lock.lost", locks,
		metric.WithDescription("Locks that were lost while they were held, broken ones too."))
	o.expired, errs[8] = meter.Int64ObservableCounter("redislock.lock.expired", locks,
		metric.WithDescription("Locks without a watchdog that nobody has released before they ended."))
	o.failures, errs[9] = meter.Int64Counter("redislock.server.errors", metric.WithUnit("{error}"),
		metric.WithDescription("Operations that have ended with an error of the server, or without its answer."))
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	_, errs[10] = meter.RegisterCallback(o.observe, o.waitingNow, o.heldNow, o.expired)
	return errs[10]
}

// observe reports the counts of the moment.
func (o *observer) observe(_ context.Context, to metric.Observer) error {
	counts, gone := o.ledger.counts(time.Now())
	o.forget(gone)
	for _, c := range counts {
		to.ObserveInt64(o.waitingNow, c.waiting, c.series.observe...)
		to.ObserveInt64(o.heldNow, c.held, c.series.observe...)
		to.ObserveInt64(o.expired, c.expired, c.series.observe...)
	}
	return nil
}

// failed counts a failure of the server, if there is one.
func (o *observer) failed(ctx context.Context, operation string, err error, kind string) {
	if isServers(ctx, err, kind) {
		o.failures.Add(ctx, 1, o.ledger.failed(operation, kind)...)
	}
}
