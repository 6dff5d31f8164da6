package api_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/world"
)

// What can be seen to be wrong is refused before anything is sent, also by a Client that asks for most locks at once.
func TestRefusedBeforeItIsSent(t *testing.T) {
	t.Parallel()
	const year = 365 * 24 * time.Hour
	much := strings.Repeat("x", 5000)
	p := &world.FakeServer{Script: func(check.Run) string { return ":1\r\n" }}
	cluster := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"127.0.0.1:1"}, MaxRetries: -1})
	defer func() { _ = cluster.Close() }()
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"one": "127.0.0.1:1", "two": "127.0.0.1:1"}, HeartbeatFrequency: time.Hour})
	defer func() { _ = ring.Close() }()
	single := p.Client(t)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		rdb interface {
			redis.Scripter
			AddHook(redis.Hook)
		}
		ctx    context.Context
		keys   []string
		ttl    time.Duration
		opt    *redislock.Options
		closed bool
		want   error
	}{
		"no key":                 {rdb: single, ttl: time.Minute, want: redislock.ErrInvalid},
		"an empty key":           {rdb: single, keys: []string{"a", ""}, ttl: time.Minute, want: redislock.ErrInvalid},
		"a short ttl":            {rdb: single, keys: []string{"a"}, ttl: time.Millisecond - 1, want: redislock.ErrInvalid},
		"a long ttl":             {rdb: single, keys: []string{"a"}, ttl: year + 1, want: redislock.ErrInvalid},
		"much metadata":          {rdb: single, keys: []string{"a"}, ttl: year, opt: &redislock.Options{Metadata: much}, want: redislock.ErrInvalid},
		"a long name":            {rdb: single, keys: []string{"a"}, ttl: year, opt: &redislock.Options{Name: much}, want: redislock.ErrInvalid},
		"a negative Wait":        {rdb: single, keys: []string{"a"}, ttl: year, opt: &redislock.Options{Wait: -1}, want: redislock.ErrInvalid},
		"a negative HoldAtLeast": {rdb: single, keys: []string{"a"}, ttl: year, opt: &redislock.Options{HoldAtLeast: -1}, want: redislock.ErrInvalid},
		"PassOn without Queue":   {rdb: single, keys: []string{"a"}, ttl: year, opt: &redislock.Options{PassOn: time.Hour}, want: redislock.ErrInvalid},
		"a caller with a blank":  {rdb: single, ctx: redislock.WithCaller(t.Context(), "a b"), keys: []string{"a"}, ttl: year, want: redislock.ErrInvalid},
		"an ended context":       {rdb: single, ctx: ended, keys: []string{"a"}, ttl: time.Minute, want: context.Canceled},
		"a closed Client":        {rdb: single, keys: []string{"a"}, ttl: time.Minute, closed: true, want: redis.ErrClosed},
		"two slots":              {rdb: cluster, keys: []string{"a", "b"}, ttl: time.Minute, want: redislock.ErrCrossSlot},
		"two shards":             {rdb: ring, keys: []string{"a", "b"}, ttl: time.Minute, want: redislock.ErrCrossSlot},
	} {
		client := world.NewClient(t, c.rdb)
		if c.closed {
			client.Close()
		}
		ctx := c.ctx
		if ctx == nil {
			ctx = t.Context()
		}
		t.Run(name, func(t *testing.T) {
			world.WantUnsent(t, c.rdb, c.want, func() error { _, err := client.Obtain(ctx, c.keys, c.ttl, c.opt); return err })
		})
	}
}

// An answered is what a server says, and how late.
type answered struct {
	reply string
	after time.Duration
}

// ending has a Client obtain two keys, and release them if it has them. The server says to its first requests what it is told to say, and
// that all was done to the others.
func ending(t *testing.T, first []answered, ctxEnds, ttl time.Duration, opt *redislock.Options, with redislock.ClientOption) (said string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var lines []string
		began := time.Now()
		p := &world.FakeServer{Script: func(run check.Run) string {
			mu.Lock()
			token, metadata, _ := strings.Cut(run.Value, "|")
			if token == "" {
				metadata += ", without a token"
			}
			lines = append(lines, fmt.Sprintf("%s %v %q ttl %v after %v, closes %d", run.Script, run.Set.Keys, metadata, run.TTL,
				time.Since(began).Truncate(10*time.Millisecond), len(run.Stamp.Closes)))
			a := answered{reply: ":1\r\n"}
			if len(first) > 0 {
				a, first = first[0], first[1:]
			}
			mu.Unlock()
			time.Sleep(a.after)
			return a.reply
		}}
		rdb := p.Client(t, func(o *redis.Options) { o.ReadTimeout, o.WriteTimeout = -1, -1 })
		client := world.NewClient(t, rdb, with)
		ctx, cancel := context.WithTimeout(context.Background(), ctxEnds)
		defer cancel()
		lock, err := client.Obtain(ctx, []string{"a", "b"}, ttl, opt)
		took := time.Since(began)
		if err == nil {
			err = fmt.Errorf("certain for %v, release: %w", lock.Deadline().Sub(began), lock.Release(context.Background()))
		}
		time.Sleep(3 * time.Hour) // all answers have come
		mu.Lock()
		defer mu.Unlock()
		said = fmt.Sprintf("%v: %v\n%s", took, strings.ReplaceAll(err.Error(), "%!w(<nil>)", "done"), strings.Join(lines, "\n"))
	})
	return said
}

// An end is what happens to an Obtain, and what is seen of that.
type end struct {
	first []answered
	ends  time.Duration // of the context
	ttl   time.Duration
	opt   *redislock.Options
	want  string
}

const (
	done   = ":1\r\n"
	minute = time.Minute
	late   = 2 * time.Hour // an answer of which nobody waits
	never  = 100 * time.Hour
)

var endings = map[string]end{
	"done": {nil, never, minute, nil, `
0s: certain for 59.398s, release: done
obtain [a b] "" ttl 1m0s after 0s, closes 0
release [a b] "" ttl 0s after 0s, closes 0
`},
	"a fraction": {nil, never, time.Millisecond + 1, nil, `
0s: certain for 1ms, release: done
obtain [a b] "" ttl 2ms after 0s, closes 0
release [a b] "" ttl 0s after 0s, closes 0
`},
	"with metadata": {nil, never, minute, &redislock.Options{Metadata: "m"}, `
0s: certain for 59.398s, release: done
obtain [a b] "m" ttl 1m0s after 0s, closes 0
release [a b] "m" ttl 0s after 0s, closes 0
`},
	"done when it is late": {[]answered{{done, 30 * time.Second}}, never, minute, nil, `
30s: certain for 59.398s, release: done
obtain [a b] "" ttl 1m0s after 0s, closes 0
release [a b] "" ttl 0s after 30s, closes 0
`},
	"done when it is too late": {[]answered{{done, 3 * time.Second}}, never, 2 * time.Second, nil, `
3s: redislock: obtain "a" and 1 more: not obtained: the answer took 3.0s, which leaves nothing of a ttl of 2s; the keys are given back
obtain [a b] "" ttl 2s after 0s, closes 0
release [a b] "" ttl 0s after 3s, closes 0
`},
	"done after the context": {[]answered{{done, 1050 * time.Millisecond}}, time.Second, minute, nil, `
1.05s: redislock: obtain "a" and 1 more: context deadline exceeded after 1.0s and 1 attempt: not obtained
obtain [a b] "" ttl 1m0s after 0s, closes 0
release [a b] "" ttl 0s after 1.05s, closes 0
`},
	"done long after the context": {[]answered{{done, 3 * time.Second}}, time.Second, minute, nil, `
1.1s: redislock: obtain "a" and 1 more: outcome not known: context deadline exceeded after 1.1s and 1 attempt
obtain [a b] "" ttl 1m0s after 0s, closes 0
release [a b] "" ttl 0s after 1.1s, closes 1
`},
	"no answer": {[]answered{{done, late}}, never, minute, nil, `
1m0s: redislock: obtain "a" and 1 more: outcome not known: no answer for 1m00s: i/o timeout
obtain [a b] "" ttl 1m0s after 0s, closes 0
release [a b] "" ttl 0s after 1m0s, closes 1
`},
	"no answer, a short ttl": {[]answered{{done, late}}, never, time.Second, nil, `
5s: redislock: obtain "a" and 1 more: outcome not known: no answer for 5.0s: i/o timeout
obtain [a b] "" ttl 1s after 0s, closes 0
release [a b] "" ttl 0s after 5s, closes 1
`},
	"no answer, and a context": {[]answered{{done, late}}, time.Second, minute, nil, `
1.1s: redislock: obtain "a" and 1 more: outcome not known: context deadline exceeded after 1.1s and 1 attempt
obtain [a b] "" ttl 1m0s after 0s, closes 0
release [a b] "" ttl 0s after 1.1s, closes 1
`},
	"refused": {[]answered{{world.HeldBySomebody, 0}}, never, minute, nil, `
0s: redislock: "a" is write-locked by a holder that says nothing of itself, 1m00s left
obtain [a b] "" ttl 1m0s after 0s, closes 0
`},
	"an error": {[]answered{{"-ERR broken\r\n", 0}}, never, minute, nil, `
0s: redislock: obtain "a" and 1 more: ERR broken
obtain [a b] "" ttl 1m0s after 0s, closes 0
release [a b] "" ttl 0s after 0s, closes 1
`},
	"perhaps executed": {[]answered{{"-UNBLOCKED force unblock\r\n", 0}}, never, minute, nil, `
0s: redislock: obtain "a" and 1 more: outcome not known: UNBLOCKED force unblock
obtain [a b] "" ttl 1m0s after 0s, closes 0
release [a b] "" ttl 0s after 0s, closes 1
`},
	"another reply": {[]answered{{"+what\r\n", 0}}, never, minute, nil, `
0s: redislock: obtain "a" and 1 more: outcome not known: unexpected reply to obtain: string
obtain [a b] "" ttl 1m0s after 0s, closes 0
release [a b] "" ttl 0s after 0s, closes 1
`},
	"released late": {[]answered{{done, 0}, {done, 5 * time.Second}}, never, minute, nil, `
0s: certain for 59.398s, release: done
obtain [a b] "" ttl 1m0s after 0s, closes 0
release [a b] "" ttl 0s after 0s, closes 0
`},
	"perhaps released": {[]answered{{done, 0}, {"-UNBLOCKED force unblock\r\n", 0}}, never, minute, nil, `
0s: certain for 59.398s, release: redislock: release "a" and 1 more: outcome not known: UNBLOCKED force unblock
obtain [a b] "" ttl 1m0s after 0s, closes 0
release [a b] "" ttl 0s after 0s, closes 0
release [a b] "" ttl 0s after 0s, closes 1
`},
}

// Whoever asks for a lock is told the same, and has the same sent, whether hooks watch its Client or not: with them each Obtain and each
// Release goes a longer way.
func TestObtainedTheSameWay(t *testing.T) {
	t.Parallel()
	watched := redislock.WithHooks(redislock.Hooks{Lost: func(context.Context, redislock.Event) {}})
	for name, c := range endings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for way, with := range map[string]redislock.ClientOption{"the short way": nil, "the long way": watched} {
				got := ending(t, c.first, c.ends, c.ttl, c.opt, with)
				if diff := cmp.Diff(strings.Split(strings.Trim(c.want, "\n"), "\n"), strings.Split(got, "\n")); diff != "" {
					t.Errorf("%s (-want +got):\n%s", way, diff)
				}
			}
		})
	}
}
