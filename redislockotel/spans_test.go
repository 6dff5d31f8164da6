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
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/trace"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/redislockotel"
)

// spanned says what the spans say: name, whole seconds, whether it is a child of another one, attributes, status.
func (s *scene) spanned(began time.Time) (lines []string) {
	for _, span := range s.spans.Ended() {
		if span.Name() == "request" {
			continue
		}
		attributes := []string{}
		for _, a := range span.Attributes() {
			attributes = append(attributes, strings.TrimPrefix(string(a.Key), "redislock.lock.")+"="+a.Value.String())
		}
		slices.Sort(attributes)
		line := fmt.Sprintf("%s %s-%s child=%t %s", span.Name(), span.StartTime().Sub(began).Round(time.Second),
			span.EndTime().Sub(began).Round(time.Second), span.Parent().IsValid(), strings.Join(attributes, " "))
		if status := span.Status(); status.Code == codes.Error {
			line += " error: " + status.Description
		}
		lines = append(lines, line)
	}
	return lines
}

func (s *scene) wantSpans(t *testing.T, began time.Time, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, s.spanned(began)); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
}

func TestSpans(t *testing.T) {
	inScene(t, func(t *testing.T, s *scene) {
		began := time.Now()
		ctx, request := s.tracers.Tracer("test").Start(t.Context(), "request")
		first := check.Must[*redislock.Lock](t)(s.client.Obtain(ctx, []string{"a"}, time.Hour, &redislock.Options{Watchdog: true}))
		opt := polls(time.Second)
		opt.Fenced, opt.Wait = true, time.Minute
		time.AfterFunc(2600*time.Millisecond, func() { _ = first.Leave(context.Background(), 2*time.Second) })
		lock := check.Must[*redislock.Lock](t)(s.client.Obtain(ctx, []string{"a"}, time.Hour, &opt))
		time.Sleep(time.Second)
		request.End()
		check.NoError(t, lock.Release(ctx))
		check.Is(t, lock.Release(ctx), redislock.ErrLockNotHeld)
		_, err := s.client.Obtain(ctx, []string{"a"}, time.Hour, &opt) // at once: no span for a wait
		check.NoError(t, err)
		s.wantSpans(t, began,
			"hold lock 0s-3s child=true attempts=1 kept=2 mode=write outcome=released way=once",
			"wait n 0s-5s child=true attempts=6 mode=write name=n way=poll",
			fmt.Sprintf("hold n 5s-6s child=true attempts=6 fence=%d mode=write name=n outcome=released way=poll", lock.Fence()))
		for _, span := range s.spans.Ended() {
			if span.Name() != "request" && span.Parent().SpanID() != request.SpanContext().SpanID() {
				t.Errorf("%s is not a child of the caller's span", span.Name())
			}
		}
	})
}

// The cause of an end is the status and the type of the error. The texts of errors, with keys and holders, are shown only
// where keys are.
func TestSpansOfFailures(t *testing.T) {
	for _, keys := range []bool{false, true} {
		var opts []redislockotel.Option
		if keys {
			opts = append(opts, redislockotel.WithKeys())
		}
		t.Run(fmt.Sprint("keys ", keys), func(t *testing.T) {
			inScene(t, func(t *testing.T, s *scene) {
				began := time.Now()
				lock := s.obtain(t, 30*time.Second, watched)
				opt := polls(time.Second)
				opt.Wait = 5500 * time.Millisecond
				_, err := s.client.Obtain(t.Context(), []string{"a"}, time.Hour, &opt)
				check.Is(t, err, redislock.ErrWaitOver)
				s.mini.Miniredis().Del("a")
				<-lock.Lost()
				synctest.Wait()
				want := []string{
					"wait n 0s-6s child=false attempts=6 error.type=wait_over KEYSmode=write name=n way=poll error: wait_over",
					"hold n 0s-10s child=false attempts=1 error.type=not_held KEYSmode=write name=n outcome=lost way=once error: not_held",
				}
				shown := ""
				if keys {
					shown = `keys=["a"] `
					want[0] = strings.TrimSuffix(want[0], "wait_over") + err.Error()
					want[1] = strings.TrimSuffix(want[1], "not_held") + `redislock: lock lost: "a"`
				}
				for i := range want {
					want[i] = strings.Replace(want[i], "KEYS", shown, 1)
				}
				s.wantSpans(t, began, want...)
			}, opts...)
		})
	}
}

// The span of a lock that nobody releases ends with its lease, and that is no error.
func TestSpanExpires(t *testing.T) {
	inScene(t, func(t *testing.T, s *scene) {
		began := time.Now()
		_ = s.obtain(t, 10*time.Second, unwatched)
		time.Sleep(time.Minute)
		_ = s.lines(t)
		s.wantSpans(t, began, "hold n 0s-10s child=false attempts=1 mode=write name=n outcome=expired way=once")
	})
}

// Attributes that are known at the beginning are there for the sampler, and what is not sampled is not kept.
func TestSampler(t *testing.T) {
	inScene(t, func(t *testing.T, s *scene) {
		sampler := &sampler{}
		s.tracers = trace.NewTracerProvider(trace.WithSpanProcessor(s.spans), trace.WithSampler(sampler))
		hooks := check.Must[redislock.Hooks](t)(redislockotel.Hooks(
			redislockotel.WithMeterProvider(s.provider), redislockotel.WithTracerProvider(s.tracers),
			redislockotel.WithAttributes(attribute.String("client", "c"))))
		client := redislock.New(s.rdb, redislock.WithHooks(hooks))
		lock := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{"a"}, time.Hour, &watched))
		check.NoError(t, lock.Release(t.Context()))
		client.Close()
		want := []string{"hold n client=c redislock.lock.name=n redislock.lock.mode=write redislock.lock.way=once"}
		if diff := cmp.Diff(want, sampler.asked); diff != "" {
			t.Errorf("the sampler (-want +got):\n%s", diff)
		}
		s.wantSpans(t, time.Now())
		s.want(t, "obtained{c write n once} 1", "released{c write n once} 1", "hold.duration{c write n once} 1 in 0s")
	})
}

// A sampler takes none, and keeps what it was asked for.
type sampler struct{ asked []string }

func (s *sampler) ShouldSample(p trace.SamplingParameters) trace.SamplingResult {
	line := p.Name
	for _, a := range p.Attributes {
		line += " " + string(a.Key) + "=" + a.Value.String()
	}
	s.asked = append(s.asked, line)
	return trace.SamplingResult{Decision: trace.Drop}
}

func (s *sampler) Description() string { return "none" }

// The exemplars of the histograms lead to the spans of waiting and holding.
func TestExemplars(t *testing.T) {
	inScene(t, func(t *testing.T, s *scene) {
		lock := s.obtain(t, time.Hour, watched)
		time.AfterFunc(time.Second, func() { _ = lock.Release(context.Background()) })
		opt := polls(2 * time.Second)
		_ = check.Must[*redislock.Lock](t)(s.client.Obtain(t.Context(), []string{"a"}, time.Hour, &opt))
		ids := map[string]oteltrace.SpanID{}
		for _, span := range s.spans.Ended() {
			ids[span.Name()] = span.SpanContext().SpanID()
		}
		for name, span := range map[string]string{"redislock.lock.wait.duration": "wait n", "redislock.lock.hold.duration": "hold n"} {
			if got, want := s.exemplar(t, name), ids[span]; got != want || !want.IsValid() {
				t.Errorf("%s: got an exemplar of span %s, want %s, %q", name, got, want, span)
			}
		}
	})
}
