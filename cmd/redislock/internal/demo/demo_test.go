package demo

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/spf13/pflag"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

func TestMain(m *testing.M) {
	cli.Reachable = time.Minute
	redistest.Main(m)
}

// output is what a command has written.
type output struct{ out, err bytes.Buffer }

func (o *output) streams() cli.Streams { return cli.Streams{Out: &o.out, Err: &o.err} }

// soon is longer than anything takes that has to come.
const soon = 20 * time.Second

// play runs a quick demo, with a lease that a busy machine cannot lose.
func play(ctx context.Context, o *output, d demo, names ...string) int {
	d.pace, d.lease, d.json = cmp.Or(d.pace, 1./3), 2*time.Second, cmp.Or(d.json, new(bool))
	c := Command()
	c.Define = func(*pflag.FlagSet) cli.Action { return d.run }
	tool := cli.Tool{Name: "redislock", Commands: []cli.Command{c}}
	return tool.Run(ctx, o.streams(), append([]string{"demo"}, names...))
}

func wantText(t *testing.T, stream, got, want string) {
	t.Helper()
	if want == "" && got != "" || !strings.Contains(got, want) {
		t.Errorf("%s is %q, want %q in it", stream, got, want)
	}
}

func TestAllActs(t *testing.T) {
	t.Parallel()
	var o output
	if got := play(t.Context(), &o, demo{}); got != 0 {
		t.Errorf("exit status %d\n%s", got, &o.err)
	}
	if got := strings.Count(o.out.String(), "✓"); got != len(acts) {
		t.Errorf("%d good verdicts, want %d", got, len(acts))
	}
	if t.Failed() {
		t.Log(o.out.String())
	}
}

// With --json there is an object for each act, and nothing else.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	for _, broken := range []bool{false, true} {
		var o output
		if got := play(t.Context(), &o, demo{broken: broken, json: new(true)}, "conflict", "money"); (got == 0) == broken {
			t.Errorf("broken %t: exit status %d\n%s", broken, got, &o.err)
		}
		var acts []string
		for line := range strings.Lines(o.out.String()) {
			var one outcome
			check.NoError(t, json.Unmarshal([]byte(line), &one))
			if acts = append(acts, one.Act); one.OK == broken || len(one.Found) == 0 || one.Took < 0 {
				t.Errorf("broken %t: %s", broken, line)
			}
		}
		if want := []string{"conflict", "money"}; !slices.Equal(acts, want) {
			t.Errorf("broken %t: objects of %q, want of %q", broken, acts, want)
		}
	}
}

// Each act without what it is about has to say so.
func TestBrokenActs(t *testing.T) {
	t.Parallel()
	faults := map[string]string{
		"money":    "the sum is ",
		"conflict": "not refused",
		"readers":  "the writer was not alone",
		"watchdog": "ended within",
		"backoff":  " gave up, and fairness is",
	}
	for _, a := range acts {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			var o output
			if got := play(t.Context(), &o, demo{broken: true}, a.name); got != cli.Failed {
				t.Errorf("exit status %d, want %d", got, cli.Failed)
			}
			_, verdict, bad := strings.Cut(o.out.String(), "✗")
			if fault := faults[a.name]; fault == "" || !bad || !strings.Contains(verdict, fault) {
				t.Errorf("no fault %q in\n%s", fault, &o.out)
			}
			wantText(t, "stderr", o.err.String(), "1 of 1 act not as promised")
		})
	}
}

func TestNothingIsLeftBehind(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, b redistest.Backend) {
		const db = 1 // of this test alone
		var o output
		if got := play(t.Context(), &o, demo{redis: cli.Redis{URL: location(b, db)}}); got != 0 {
			t.Errorf("exit status %d\n%s%s", got, &o.out, &o.err)
		}
		wantNoLocks(t, b, db)
	})
}

func TestInterruptedActs(t *testing.T) {
	t.Parallel()
	for i, a := range acts {
		if a.name == "conflict" {
			continue // it is over before it could be interrupted
		}
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, b redistest.Backend) {
				db := 2 + i // of this subtest alone
				for _, after := range []time.Duration{10, 60, 110, 160} {
					interrupt(t, demo{redis: cli.Redis{URL: location(b, db)}}, a.name, after*time.Millisecond)
					wantNoLocks(t, b, db)
				}
				// Left to itself it would go on for a minute, and more.
				interrupt(t, demo{redis: cli.Redis{URL: location(b, db)}, pace: 200}, a.name, 60*time.Millisecond)
				wantNoLocks(t, b, db)
			})
		})
	}
}

// interrupt plays an act until it is interrupted, and wants it to be over soon after that.
func interrupt(t *testing.T, d demo, name string, after time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), after)
	defer cancel()
	var o output
	began := time.Now()
	if got := play(ctx, &o, d, name); got != cli.Interrupted {
		t.Errorf("exit status %d, want %d\n%s%s", got, cli.Interrupted, &o.out, &o.err)
	}
	if took := time.Since(began); took > soon {
		t.Errorf("interrupted after %s, it went on until %s", after, took)
	}
}

// location is the URL of a database.
func location(b redistest.Backend, db int) string { return fmt.Sprintf("redis://%s/%d", b.Addr(), db) }

// wantNoLocks checks that nothing is left but guards, which stay where requests were left without an answer.
func wantNoLocks(t *testing.T, b redistest.Backend, db int) {
	t.Helper()
	rdb := b.Client(t, func(opt *redis.Options) { opt.DB = db })
	if keys := check.WithoutGuards(t.Context(), rdb, left(t, b, db)...); len(keys) > 0 {
		t.Errorf("left behind: %q", keys)
	}
}

func left(t *testing.T, b redistest.Backend, db int) []string {
	t.Helper()
	keys, err := b.Client(t, func(opt *redis.Options) { opt.DB = db }).Keys(t.Context(), "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func TestKeysHaveAPrefixOnServersOfOthers(t *testing.T) {
	t.Parallel()
	b := redistest.Shared(t, redistest.Miniredis)
	names := make(map[string]bool)
	for range 2 {
		srv, err := (&cli.Redis{URL: location(b, 0)}).Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s := newStage(new(demo), srv, nil)
		name := s.key("a:%d", 1)
		if !strings.HasPrefix(name, "redislock-demo-") || !strings.HasSuffix(name, ":a:1") {
			t.Errorf("key %q", name)
		}
		names[name] = true
		if err := s.clear(); err != nil {
			t.Error(err)
		}
	}
	if len(names) != 2 {
		t.Errorf("two runs share a key: %v", names)
	}
}

func TestSilentServer(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	var o output
	began := time.Now()
	// The client would wait for a minute.
	if got := play(ctx, &o, demo{redis: cli.Redis{URL: "redis://" + l.Addr().String() + "?read_timeout=1m"}}); got != cli.Interrupted {
		t.Errorf("exit status %d, want %d", got, cli.Interrupted)
	}
	if took := time.Since(began); took > soon {
		t.Errorf("it went on for %s", took)
	}
}

func TestCensus(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name           string
		stored         []string // by account
		whole, partial int
	}{
		{"nobody", []string{"", "", ""}, 0, 0},
		{"one set", []string{"t|m accounts=0,2", "", "t|m accounts=0,2"}, 1, 0},
		{"two sets", []string{"t| accounts=0,3", "u| accounts=2,1", "u| accounts=2,1", "t| accounts=0,3"}, 2, 0},
		{"half of a set", []string{"t|m accounts=0,2", "", ""}, 0, 1},
		{"two halves", []string{"t|m accounts=0,1", "u|m accounts=0,1"}, 0, 2},
		{"one key too many", []string{"t|m accounts=0,1", "t|m accounts=0,1", "t|m accounts=0,1"}, 0, 1},
		{"other keys", []string{"t|m accounts=1,2", "t|m accounts=1,2", ""}, 0, 1},
		{"no names", []string{"t"}, 0, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if whole, partial := census(tt.stored); whole != tt.whole || partial != tt.partial {
				t.Errorf("%d whole, %d partial, want %d, %d", whole, partial, tt.whole, tt.partial)
			}
		})
	}
}

func TestVerdict(t *testing.T) {
	t.Parallel()
	var v verdict
	if v.ok() {
		t.Error("a verdict about nothing is good")
	}
	v.check(true, "fact", "fault")
	if !v.ok() || v.String() != "fact" {
		t.Errorf("got %t %q", v.ok(), v.String())
	}
	v.check(false, "fact", "fault")
	if v.ok() || v.String() != "fault" {
		t.Errorf("got %t %q", v.ok(), v.String())
	}
}

func TestTogether(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	err := together(t.Context(), 3, func(ctx context.Context, i int) error {
		if i == 1 {
			return broken
		}
		<-ctx.Done()
		return ctx.Err()
	})
	if !errors.Is(err, broken) {
		t.Errorf("got %v, want the first error", err)
	}
}
