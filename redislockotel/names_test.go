package redislockotel_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/redislockotel"
)

// A name that is no text is made text: an exporter refuses everything because of it.
func TestNameIsText(t *testing.T) {
	inScene(t, func(t *testing.T, s *scene) {
		lock := s.obtain(t, time.Hour, redislock.Options{Name: "n\xff"}, "a\xff")
		s.want(t, "held{write n\uFFFD once} 1", "obtained{write n\uFFFD once} 1")
		check.NoError(t, lock.Release(t.Context()))
		for _, span := range s.spans.Ended() {
			for _, a := range span.Attributes() {
				if !utf8.ValidString(a.Value.String()) {
					t.Errorf("span %q has %s %q", span.Name(), a.Key, a.Value.String())
				}
			}
		}
	}, redislockotel.WithKeys())
}

// Names with numbers in them do not make time series without end.
func TestManyNames(t *testing.T) {
	inScene(t, func(t *testing.T, s *scene) {
		const more = 10
		for i := range redislockotel.MostNames + more {
			check.NoError(t, s.obtain(t, time.Hour, redislock.Options{Name: fmt.Sprint("order ", i)}).Release(t.Context()))
		}
		lines := s.lines(t)
		if got, want := len(lines), 3*(redislockotel.MostNames+1); got != want {
			t.Errorf("got %d time series, want %d", got, want)
		}
		if got, want := lineOf(lines, "obtained{write _OTHER"), fmt.Sprintf("obtained{write _OTHER once} %d", more); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

// What is 0 is reported as 0, from the first lock on: an alert sees the first loss as an increase.
func TestZeros(t *testing.T) {
	inScene(t, func(t *testing.T, s *scene) {
		check.NoError(t, s.obtain(t, time.Hour, watched).Release(t.Context()))
		got := map[string][]string{}
		for _, metric := range s.metrics(t) {
			if data, ok := metric.Data.(metricdata.Sum[int64]); ok {
				for _, p := range data.DataPoints {
					if p.Value == 0 {
						got[metric.Name] = append(got[metric.Name], labels(p.Attributes))
					}
				}
			}
		}
		for name, want := range map[string]int{
			"redislock.lock.held": 1, "redislock.lock.waiting": 1, "redislock.lock.expired": 1, "redislock.lock.lost": 5,
		} {
			if len(got[name]) != want {
				t.Errorf("%s: got zeros %v, want %d", name, got[name], want)
			}
		}
	})
}

// unfit refuses to make one instrument.
type unfit struct {
	noop.MeterProvider
	name string
}

type unfitMeter struct {
	noop.Meter
	name string
}

var errInstrument = errors.New("no more instruments")

func (u unfit) Meter(string, ...metric.MeterOption) metric.Meter { return unfitMeter{name: u.name} }

func (u unfitMeter) Int64Counter(name string, _ ...metric.Int64CounterOption) (metric.Int64Counter, error) {
	if name == u.name {
		return nil, errInstrument
	}
	return noop.Int64Counter{}, nil
}

func (u unfitMeter) RegisterCallback(metric.Callback, ...metric.Observable) (metric.Registration, error) {
	if u.name == "callback" {
		return nil, errInstrument
	}
	return noop.Registration{}, nil
}

// A provider that refuses an instrument is heard.
func TestUnfitProvider(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"redislock.lock.lost", "callback"} {
		hooks, err := redislockotel.Hooks(redislockotel.WithMeterProvider(unfit{name: name}))
		check.Is(t, err, errInstrument)
		if hooks.Obtained != nil || !strings.HasPrefix(err.Error(), "redislockotel: ") {
			t.Errorf("got hooks: %v, error %q", hooks.Obtained != nil, err)
		}
	}
}
