package tune

import (
	"context"
	"encoding/xml"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/measure"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// serverOf is a server with a few keys that are named after the test.
func serverOf(t *testing.T, b redistest.Backend, n int) *server {
	t.Helper()
	conn := check.Must[*cli.Conn](t)((&cli.Redis{URL: "redis://" + b.Addr(), Prefix: "tune:"}).Open(t.Context()))
	t.Cleanup(func() { _ = conn.Close() })
	names := check.Must[[]string](t)(namesOf(t.Name()+":%d", n))
	return &server{Conn: conn, names: names, mark: "redislock-tune-abc"}
}

// What a run has left goes: locks of writers and readers, waiters, intents. What others have at the same keys stays.
func TestClear(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, b redistest.Backend) {
		s := serverOf(t, b, 5)
		client := s.Client()
		defer client.Close()
		ours := &redislock.Options{Metadata: s.mark}
		theirs := &redislock.Options{Metadata: "x" + s.mark + "x"}
		obtain := func(of func(context.Context, []string, time.Duration, *redislock.Options) (*redislock.Lock, error), key int, opt *redislock.Options) *redislock.Lock {
			return check.Must[*redislock.Lock](t)(of(t.Context(), s.names[key:key+1], time.Minute, opt))
		}
		obtain(client.Obtain, 0, ours)
		obtain(client.ObtainRead, 1, ours)
		reader := obtain(client.ObtainRead, 1, theirs)
		writer := obtain(client.Obtain, 2, theirs)
		waiting := make(chan struct{})
		ctx, leave := context.WithCancel(t.Context())
		for _, opt := range []redislock.Options{
			{Metadata: s.mark, Queue: true},
			{Metadata: s.mark, Intent: true, RetryStrategy: redislock.LinearBackoff(time.Minute)},
		} {
			go func() {
				key := map[bool]int{true: 0, false: 2}[opt.Queue]
				_, _ = client.Obtain(ctx, s.names[key:key+1], time.Minute, &opt) // it is cancelled
				waiting <- struct{}{}
			}()
		}
		check.Eventually(t, 20*time.Second, "both wait", func() bool {
			states := check.Must[[]redislock.KeyState](t)(client.Inspect(t.Context(), s.names))
			return len(states[0].Line) == 1 && states[2].Intent != nil
		})
		check.NoError(t, s.clear(time.Minute))
		var got []string
		for _, state := range check.Must[[]redislock.KeyState](t)(client.Inspect(t.Context(), s.names)) {
			for _, h := range state.Holders {
				got = append(got, state.Key+" "+h.Metadata)
			}
			if len(state.Line) > 0 || state.Intent != nil {
				t.Errorf("left behind: %v", state)
			}
		}
		if diff := cmp.Diff(got, []string{s.names[1] + " " + theirs.Metadata, s.names[2] + " " + theirs.Metadata}); diff != "" {
			t.Error(diff)
		}
		leave()
		for range 2 {
			if _, ok := check.Receive(waiting, 20*time.Second); !ok {
				t.Fatal("an Obtain does not end")
			}
		}
		check.NoError(t, errors.Join(reader.Release(t.Context()), writer.Release(t.Context())))
	})
}

func TestUnused(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, b redistest.Backend) {
		s := serverOf(t, b, 300) // more than one batch
		check.NoError(t, s.unused(t.Context()))
		for _, of := range []int{0, 1, 2, 3} {
			key := s.beside(s.names[299])[of]
			check.NoError(t, s.RDB.Set(t.Context(), key, "data", time.Minute).Err())
			if err := s.unused(t.Context()); err == nil || !strings.Contains(err.Error(), "exist: "+key+";") {
				t.Errorf("%s exists: %v", key, err)
			}
			check.NoError(t, s.RDB.Del(t.Context(), key).Err())
		}
	})
}

// A slice begins when those who were cut short have left.
func TestSettle(t *testing.T) {
	t.Parallel()
	s := serverOf(t, redistest.Shared(t, redistest.Redis), 2)
	client := s.Client()
	defer client.Close()
	lock := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), s.names[1:], time.Minute, nil))
	settled := make(chan error, 1)
	go func() { settled <- s.settle(t.Context()) }()
	select {
	case err := <-settled:
		t.Fatalf("settled while a key is held: %v", err)
	case <-time.After(50 * ms):
	}
	check.NoError(t, lock.Release(t.Context()))
	if err, ok := check.Receive(settled, 20*time.Second); !ok || err != nil {
		t.Errorf("not settled: %v", err)
	}
}

func TestServerThatTellsNothing(t *testing.T) {
	t.Parallel()
	own := redistest.Start(t, redistest.Redis)
	s := serverOf(t, own, 1)
	before := s.used(t.Context())
	for range 2000 {
		check.NoError(t, s.RDB.Ping(t.Context()).Err())
	}
	after := s.used(t.Context())
	if s.silent != "" || after <= before {
		t.Errorf("%v after %v, %q", after, before, s.silent)
	}
	check.NoError(t, s.RDB.Do(t.Context(), "ACL", "SETUSER", "default", "-info").Err())
	if s.used(t.Context()) != 0 || !strings.Contains(s.silent, "INFO: NOPERM") {
		t.Errorf("it is not said why: %q", s.silent)
	}
	if text := strings.Join(legend(s.silent), "\n"); !strings.Contains(text, "CPU EACH is not known: INFO: NOPERM") {
		t.Errorf("legend: %s", text)
	}
	mini := &server{Conn: &cli.Conn{IsMini: true}}
	if mini.used(t.Context()) != 0 || mini.silent == "" {
		t.Error("the server inside the program tells what it has used")
	}
}

func TestClusterNeedsOneSlot(t *testing.T) {
	t.Parallel()
	one, many := redis.NewClient(&redis.Options{}), redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"127.0.0.1:1"}})
	defer one.Close()
	defer many.Close()
	for _, tt := range []struct {
		rdb     redis.UniversalClient
		pattern string
		keys    int
		want    bool
	}{
		{one, "a:%d", 2, true},
		{many, "a:%d", 1, true},
		{many, "a:%d", 2, false},
		{many, "{a}:%d", 2, true},
	} {
		s := &server{Conn: &cli.Conn{RDB: tt.rdb}, names: check.Must[[]string](t)(namesOf(tt.pattern, 20))}
		if err := s.fits(tt.keys); (err == nil) != tt.want {
			t.Errorf("%T, %s, %d keys: %v", tt.rdb, tt.pattern, tt.keys, err)
		}
	}
}

// A picture is XML, and has the names of all policies, whatever was seen of them.
func TestPicture(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(5, 6))
	results := []result{
		played("line", random, 5, .1, usual(100, 2, 10)),
		played("title", random, 5, .1, usual(90, 2, 12)),
		played("nothing", random, 5, 0, func(func(float64) float64) measure.Part { return seen([]int{0}, 0, 0, 0) }),
		played("never", random, 5, 0, func(func(float64) float64) measure.Part {
			s := seen([]int{0}, 4, 0, 0)
			s.Waits.Add(time.Second, true)
			return s
		}),
	}
	r := rank(results, ms)
	drawing := check.Must[[]byte](t)(r.picture())
	text := ""
	for in := xml.NewDecoder(strings.NewReader(string(drawing))); ; {
		token, err := in.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		check.NoError(t, err)
		if chars, ok := token.(xml.CharData); ok {
			text += string(chars) + "\n"
		}
	}
	for _, r := range results {
		if !strings.Contains(text, "\n"+r.Name+"\n") {
			t.Errorf("no %s in\n%s", r.Name, text)
		}
	}
}
