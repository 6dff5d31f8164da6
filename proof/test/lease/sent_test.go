package lease_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A recorder is a server that does all that it is asked for, unless it is told what to say first, and writes down what it was asked.
type recorder struct {
	world.FakeServer
	mu    sync.Mutex
	first []string // its next answers
	token string   // of the lock
	lines []string
}

func newRecorder() *recorder {
	r := new(recorder)
	r.Script = r.answers
	return r
}

func (r *recorder) answers(run check.Run) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	token, rest, has := strings.Cut(run.Value, "|")
	if r.token == "" {
		r.token = token
	}
	line := fmt.Sprintf("%s %v", run.Script, run.Set.Keys)
	if run.Set.Writes < len(run.Set.Keys) {
		line += fmt.Sprintf(" writes %d", run.Set.Writes)
	}
	if token != r.token {
		line += " token " + token
	}
	if has {
		line += " value |" + rest
	}
	if run.TTL != 0 {
		line += fmt.Sprint(" ttl ", run.TTL)
	}
	for _, letter := range []struct {
		is   bool
		name string
	}{
		{run.Can.Block, "block"},
		{run.Can.Close, "closes"},
		{run.Can.Fenced, "fenced"},
		{run.Can.Keep, "keeps writing"},
		{run.Can.Long, "keeps leases"},
		{run.NeverShortens(), "never shortens"},
		{run.Can.Search, "searches"},
	} {
		if letter.is {
			line += ", " + letter.name
		}
	}
	if run.Stamp.Is {
		line += fmt.Sprintf(", stamp %d", run.Stamp.Number)
		for _, c := range run.Stamp.Closes {
			line += fmt.Sprintf(" closes %d at %s", c.Number, c.Line)
		}
	}
	if run.Release != nil {
		line += fmt.Sprintf(", looks %t, left %v", run.Release.Looks, run.Left)
		if len(run.Spared) > 0 {
			line += fmt.Sprint(", spares ", run.Spared)
		}
	}
	r.lines = append(r.lines, line)
	if len(r.first) > 0 {
		answer := r.first[0]
		r.first = r.first[1:]
		return answer
	}
	switch {
	case run.Of("pttl"):
		return "*2\r\n:1\r\n:5000\r\n"
	case run.Can.Fenced && (run.Obtain != nil || run.Convert != nil):
		return "*2\r\n:1\r\n:7\r\n"
	}
	return ":1\r\n"
}

// says has the server begin with other answers.
func (r *recorder) says(first ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.first = first
}

const (
	overtaken = ":-3\r\n"
	unblocked = "-UNBLOCKED force unblock\r\n" // the script may have been executed
)

// usesAll does with a lock of a, b and c all that asks the server.
func usesAll(t *testing.T, lock *redislock.Lock) {
	t.Helper()
	ctx := t.Context()
	if ttl := check.Must[time.Duration](t)(lock.TTL(ctx)); ttl != 5*time.Second {
		t.Errorf("got ttl %v", ttl)
	}
	for _, ttl := range []time.Duration{time.Hour, 30 * time.Second, 90 * time.Second} {
		check.NoError(t, lock.Refresh(ctx, ttl))
	}
	check.NoError(t, lock.Downgrade(ctx))
	check.NoError(t, lock.Upgrade(ctx))
	if lock.Fence() > 0 {
		check.NoError(t, lock.RaiseFence(ctx, 9))
		check.NoError(t, lock.RaiseFence(ctx, 1))
	}
	check.NoError(t, lock.ReleaseKeys(ctx, []string{"c"}))
	check.NoError(t, lock.Leave(ctx, 2*time.Minute))
}

// A use is what is done with a lock of a, b and c, and what is sent for that, the Obtain included.
type use struct {
	opt  *redislock.Options
	do   func(t *testing.T, s *recorder, lock *redislock.Lock)
	want string
}

// usesOfAll are uses of all that there is.
var usesOfAll = map[string]use{
	"plain": {&redislock.Options{Metadata: "m"}, func(t *testing.T, _ *recorder, lock *redislock.Lock) { t.Helper(); usesAll(t, lock) }, `
obtain [a b c] value |m ttl 1m0s
pttl [a b c] value |m
refresh [a b c] value |m ttl 1h0m0s, keeps leases, never shortens
refresh [a b c] value |m ttl 30s
refresh [a b c] value |m ttl 1m30s
convert [a b c] writes 0 value |m ttl 1m30s
convert [a b c] value |m ttl 1m30s
release [c] value |m, looks false, left 0s
release [a b] value |m, looks false, left 2m0s
`},
	"fenced": {world.Fenced(), func(t *testing.T, _ *recorder, lock *redislock.Lock) { t.Helper(); usesAll(t, lock) }, `
rw [a b c] ttl 1m0s, fenced
pttl [a b c]
refresh [a b c] ttl 1h0m0s, keeps leases, never shortens
refresh [a b c] ttl 30s
refresh [a b c] ttl 1m30s
convert [a b c] writes 0 ttl 1m30s, fenced
convert [a b c] ttl 1m30s, fenced
raise [a b c] ttl 1m30s, fenced
raise [a b c] ttl 1m30s, fenced
release [c], fenced, looks false, left 0s
release [a b], fenced, looks false, left 2m0s
`},
	"callers know the token": {world.Fenced(), func(t *testing.T, _ *recorder, lock *redislock.Lock) {
		t.Helper()
		_ = lock.Token()
		usesAll(t, lock)
	}, `
rw [a b c] ttl 1m0s, fenced
pttl [a b c], searches
refresh [a b c] ttl 1h0m0s, searches
refresh [a b c] ttl 30s, searches
refresh [a b c] ttl 1m30s, searches
convert [a b c] writes 0 ttl 1m30s, fenced, searches
convert [a b c] ttl 1m30s, fenced, searches
raise [a b c] ttl 1m30s, fenced, searches
raise [a b c] ttl 1m30s, fenced, searches
release [c], fenced, searches, looks true, left 0s
release [a b], fenced, searches, looks true, left 2m0s
`},
	"a Refresh may have been executed": {nil, func(t *testing.T, s *recorder, lock *redislock.Lock) {
		t.Helper()
		s.says(unblocked)
		check.Is(t, lock.Refresh(t.Context(), 30*time.Second), redislock.ErrUnknownOutcome)
		usesAll(t, lock)
	}, `
obtain [a b c] ttl 1m0s
refresh [a b c] ttl 30s
pttl [a b c]
refresh [a b c] ttl 1h0m0s, closes, keeps leases, never shortens, stamp 1 closes 1 at redislock:line:{a}
refresh [a b c] ttl 30s, stamp 1
refresh [a b c] ttl 1m30s, stamp 1
convert [a b c] writes 0 ttl 1m30s, stamp 1
convert [a b c] ttl 1m30s, stamp 1
release [c], stamp 1, looks false, left 0s
release [a b], stamp 1, looks false, left 2m0s
`},
	"a Downgrade was abandoned": {nil, func(t *testing.T, s *recorder, lock *redislock.Lock) {
		t.Helper()
		s.says("")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		check.Is(t, lock.Downgrade(ctx), redislock.ErrUnknownOutcome)
		usesAll(t, lock)
	}, `
obtain [a b c] ttl 1m0s
convert [a b c] writes 0 ttl 1m0s
pttl [a b c]
refresh [a b c] ttl 1h0m0s, closes, keeps leases, never shortens, stamp 1 closes 1 at redislock:line:{a}
refresh [a b c] ttl 30s, stamp 1
refresh [a b c] ttl 1m30s, stamp 1
convert [a b c] writes 0 ttl 1m30s, stamp 1
convert [a b c] ttl 1m30s, stamp 1
release [c], stamp 1, looks false, left 0s
release [a b], stamp 1, looks false, left 2m0s
`},
	"callers know the token, and a Refresh may have been executed": {world.Fenced(), func(t *testing.T, s *recorder, lock *redislock.Lock) {
		t.Helper()
		_ = lock.Token()
		s.says(unblocked)
		check.Is(t, lock.Refresh(t.Context(), 30*time.Second), redislock.ErrUnknownOutcome)
		check.NoError(t, lock.RaiseFence(t.Context(), 9))
		s.says(unblocked)
		check.Is(t, lock.RaiseFence(t.Context(), 19), redislock.ErrUnknownOutcome)
		usesAll(t, lock)
	}, `
rw [a b c] ttl 1m0s, fenced
refresh [a b c] ttl 30s, searches
raise [a b c] ttl 1m0s, closes, fenced, searches, stamp 1 closes 1 at redislock:line:{a}
raise [a b c] ttl 1m0s, fenced, searches
pttl [a b c], searches
refresh [a b c] ttl 1h0m0s, searches, stamp 1
refresh [a b c] ttl 30s, searches, stamp 1
refresh [a b c] ttl 1m30s, searches, stamp 1
convert [a b c] writes 0 ttl 1m30s, fenced, searches, stamp 1
convert [a b c] ttl 1m30s, fenced, searches, stamp 1
raise [a b c] ttl 1m30s, fenced, searches
raise [a b c] ttl 1m30s, fenced, searches
release [c], fenced, searches, stamp 1, looks true, left 0s
release [a b], fenced, searches, stamp 1, looks true, left 2m0s
`},
}

// What is sent for each operation of a lock says all that matters: which keys, under which token and value, for how long, which leases and
// modes are left as they are, and what it closes.
func TestWhatALockSends(t *testing.T) {
	t.Parallel()
	uses := maps.Clone(usesOfAll)
	maps.Copy(uses, usesOfSome)
	for name, c := range uses {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newRecorder()
				client := world.NewClient(t, s.Client(t))
				c.do(t, s, check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{"a", "b", "c"}, time.Minute, c.opt)))
				time.Sleep(time.Hour)
				s.mu.Lock()
				defer s.mu.Unlock()
				if diff := cmp.Diff(strings.Split(strings.Trim(c.want, "\n"), "\n"), s.lines); diff != "" {
					t.Errorf("sent (-want +got):\n%s", diff)
				}
			})
		})
	}
}
