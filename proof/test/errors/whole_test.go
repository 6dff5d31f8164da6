package errors_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A telling is an Obtain of "k", with a server that gives one answer after the other, and the text of its error.
type telling struct {
	answers []string // to its requests; the last one is also the answer to all that follow
	takes   time.Duration
	waits   bool   // the Redis client waits longer than the library, for which nobody has answered then
	hears   string // the answer to a SUBSCRIBE; empty: as a server does
	ttl     time.Duration
	opt     redislock.Options
	within  time.Duration // when its context ends; 0: never
	closes  time.Duration // when the Client is closed; 0: never
	want    string
}

// tell runs the Obtain.
func (c telling) tell(t *testing.T, log slog.Handler, opts ...redislock.ClientOption) error {
	t.Helper()
	asked := 0
	p := &world.FakeServer{Script: func(run check.Run) string {
		if !run.Of("obtain", "rw") {
			return ":1\r\n"
		}
		time.Sleep(c.takes)
		asked++
		if answer := c.answers[min(asked, len(c.answers))-1]; answer != "" || !c.waits {
			return answer
		}
		time.Sleep(5 * time.Minute)
		return ":1\r\n"
	}}
	if c.hears != "" {
		p.Subscribe = func(int, string) string { return c.hears }
	}
	client := redislock.New(p.Client(t, func(opt *redis.Options) {
		if c.waits {
			opt.ReadTimeout = -1
		}
	}), append(opts, redislock.WithLogger(slog.New(log)))...)
	defer client.Close()
	ctx := t.Context()
	if c.within > 0 {
		ends, cancel := context.WithTimeout(ctx, c.within)
		defer cancel()
		ctx = ends
	}
	if c.closes > 0 {
		time.AfterFunc(c.closes, client.Close)
	}
	lock, err := client.Obtain(check.OnPage(ctx, "caller"), []string{"k"}, c.ttl, &c.opt)
	if err == nil {
		check.NoError(t, lock.Release(t.Context()))
	}
	return err
}

// The text of an error says for which keys, what has happened, for how long and how often it was tried, and what was wrong before.
func TestWholeTexts(t *testing.T) {
	const (
		held    = world.HeldBySomebody
		loading = "-LOADING not yet\r\n"
		silence = ""
		holder  = `redislock: "k" is write-locked by a holder that says nothing of itself, 1m00s left`
	)
	every := func(wait time.Duration) redislock.Options {
		return redislock.Options{RetryStrategy: redislock.LinearBackoff(wait)}
	}
	once := func(wait time.Duration) redislock.Options {
		return redislock.Options{RetryStrategy: redislock.LimitRetry(redislock.LinearBackoff(wait), 1)}
	}
	for name, c := range map[string]telling{
		"nobody answers": {
			answers: []string{silence},
			want:    `redislock: obtain "k": outcome not known: read pipe: i/o timeout`,
		},
		"nobody answers, and somebody held it": {
			answers: []string{held, silence}, opt: once(time.Second),
			want: `redislock: obtain "k": outcome not known: read pipe: i/o timeout`,
		},
		"nobody answers, after a fault": {
			answers: []string{loading, silence}, opt: once(6 * time.Second),
			want: `redislock: obtain "k": outcome not known: read pipe: i/o timeout`,
		},
		"nobody answers for ever": {
			answers: []string{silence}, waits: true,
			want: `redislock: obtain "k": outcome not known: no answer for 1m00s: i/o timeout`,
		},
		"nobody answers for ever, after it was held": {
			answers: []string{held, silence}, waits: true, opt: once(time.Second),
			want: `redislock: obtain "k": outcome not known: no answer for 1m01s: i/o timeout`,
		},
		"nobody answers for ever, after a fault": {
			answers: []string{loading, silence}, waits: true, opt: once(time.Second),
			want: `redislock: obtain "k": outcome not known: no answer for 1m01s: i/o timeout; before that: redislock: obtain "k": LOADING not yet`,
		},
		"the context ends meanwhile": {
			answers: []string{held, silence}, opt: every(time.Second), within: 3 * time.Second,
			want: `redislock: obtain "k": outcome not known: context deadline exceeded after 3.1s and 2 attempts`,
		},
		"the context ends in a pause": {
			answers: []string{held}, opt: every(time.Second), within: 2500 * time.Millisecond,
			want: `redislock: obtain "k": context deadline exceeded after 2.5s and 3 attempts: ` + holder,
		},
		"the context ends after a fault": {
			answers: []string{held, loading}, opt: every(20 * time.Second), within: 30 * time.Second,
			want: `redislock: obtain "k": context deadline exceeded after 30s and 2 attempts: ` + holder + `; then: redislock: obtain "k": LOADING not yet`,
		},
		"the Client is closed": {
			answers: []string{held}, opt: every(time.Second), closes: 2500 * time.Millisecond,
			want: `redislock: obtain "k": the client is closed: redis: client is closed`,
		},
		"the answer makes no sense": {
			answers: []string{"+what\r\n"},
			want:    `redislock: obtain "k": outcome not known: unexpected reply to obtain: string`,
		},
		"the answer comes too late": {
			answers: []string{":1\r\n"}, takes: 4 * time.Second, ttl: 3 * time.Second,
			want: `redislock: obtain "k": not obtained: the answer took 4.0s, which leaves nothing of a ttl of 3s; the keys are given back`,
		},
		"the server refuses": {
			answers: []string{"-ERR it is broken\r\n"},
			want:    `redislock: obtain "k": ERR it is broken`,
		},
		"the subscription is refused": {
			answers: []string{held}, hears: "-NOPERM no channels\r\n", opt: redislock.Options{Queue: true},
			want: `redislock: obtain "k": subscribe: NOPERM no channels`,
		},
		"the metadata is too long": {
			opt:  redislock.Options{Metadata: strings.Repeat("x", 5000)},
			want: `redislock: obtain: invalid metadata: it has 5000 bytes, the limit is 4096`,
		},
		"its time in line is over": {
			answers: []string{held}, opt: redislock.Options{Queue: true, Wait: 100 * time.Millisecond},
			want: `redislock: obtain "k": the time of Options.Wait is over after 100ms and 2 attempts: ` + holder,
		},
		"no answer while it is in line": {
			answers: []string{held, world.InPlace(1, 1), silence}, opt: redislock.Options{Queue: true}, within: 8 * time.Second,
			want: `redislock: obtain "k": outcome not known: context deadline exceeded after 8.1s and 3 attempts`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if c.ttl == 0 {
				c.ttl = time.Minute
			}
			world.Bubble(t, func(t *testing.T, _ *world.World, _ *redistest.Mini, _ *world.Journal) {
				log := new(check.Log)
				err := c.tell(t, log)
				if err == nil || err.Error() != c.want {
					t.Errorf("got error\n%v\nwant\n%s", err, c.want)
				}
				wantLogged(t, log, err)
			})
		})
	}
}

// wantLogged checks that an unknown outcome is logged, with the keys and the error, and nothing else is.
func wantLogged(t *testing.T, log *check.Log, err error) {
	t.Helper()
	warnings, errs := log.At(slog.LevelWarn), log.Attr("error")
	if !errors.Is(err, redislock.ErrUnknownOutcome) {
		if len(warnings) > 0 {
			t.Errorf("got warnings %q of an outcome that is known", warnings)
		}
		return
	}
	const want = "redislock: outcome of obtain is not known, clearing up"
	if len(warnings) != 1 || warnings[0] != want || len(errs) != 1 || errs[0] != any(err) {
		t.Errorf("got warnings %q about %v, want %q about %v", warnings, errs, want, err)
	}
}

// A Redis client that can run scripts alone is named where somebody wants to stand in line with it.
func TestTextOfAClientThatCannotListen(t *testing.T) {
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:0"})
	t.Cleanup(func() { _ = rdb.Close() })
	_, err := world.NewClient(t, world.Bare{Scripter: rdb}).Obtain(t.Context(), []string{"k"}, time.Minute, world.Queue())
	check.Is(t, err, errors.ErrUnsupported)
	const want = "redislock: obtain: unsupported operation: Options.Queue subscribes, and of a world.Bare only Eval and EvalSha are used: " +
		"say with WithWrapped what it wraps"
	if err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
}
