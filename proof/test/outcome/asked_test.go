package outcome_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/internal/world"
)

// An asked is a server that says what it is told to say, and then does all that it is asked for. It writes down what it was asked.
type asked struct {
	world.FakeServer

	mu    sync.Mutex
	began time.Time
	last  time.Time      // when it was asked
	says  []string       // its next answers to an Obtain
	slow  time.Duration  // for how long a Release has to wait for its answer
	names map[string]int // of tokens
	lines []string
}

func newAsked(says ...string) *asked {
	s := &asked{began: time.Now(), says: says, names: make(map[string]int)}
	s.Script = s.answers
	return s
}

func (s *asked) answers(run check.Run) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = time.Now()
	s.lines = append(s.lines, fmt.Sprintf("%v %s", time.Since(s.began).Round(100*time.Millisecond), s.line(run)))
	if run.Obtain != nil && len(s.says) > 0 {
		answer := s.says[0]
		s.says = s.says[1:]
		return answer
	}
	if run.Release != nil {
		time.Sleep(s.slow)
	}
	if run.Obtain != nil && run.Can.Fenced {
		return "*2\r\n:1\r\n:7\r\n"
	}
	return ":1\r\n"
}

// line is all of a run that does not depend on chance.
func (s *asked) line(run check.Run) string {
	token, behind, _ := strings.Cut(run.Value, "|")
	if token != "" && s.names[token] == 0 {
		s.names[token] = len(s.names) + 1
	}
	line := fmt.Sprintf("%s %v+%v #%d|%s", run.Script, run.Set.Keys[:run.Set.Writes], run.Set.Keys[run.Set.Writes:], s.names[token], behind)
	for _, is := range []struct {
		so   bool
		text string
	}{
		{run.TTL != 0, fmt.Sprint("ttl ", run.TTL)},
		{run.Can.Block, "block"},
		{run.Can.Fenced, "fenced"},
		{run.Can.Search, "searches"},
		{run.Can.Long, "keeps leases"},
		{run.Can.Close, "closes"},
	} {
		if is.so {
			line += ", " + is.text
		}
	}
	if run.Stamp.Is {
		line += fmt.Sprintf(", stamp %d", run.Stamp.Number)
		for _, c := range run.Stamp.Closes {
			line += fmt.Sprintf(" closes %d", c.Number)
		}
	}
	if q := run.Obtain; q != nil {
		line += obtainLine(q)
	}
	return line
}

// obtainLine is what only an Obtain asks for.
func obtainLine(q *proto.Obtain) (line string) {
	if q.MinUptime != 0 {
		line += fmt.Sprint(", uptime ", q.MinUptime)
	}
	if q.Declares {
		line += fmt.Sprintf(", intent %v", q.Intent)
	}
	if len(q.Intents) > 0 {
		line += fmt.Sprintf(" %v", q.Intents)
	}
	if w := q.Waiter; w != nil {
		line += fmt.Sprintf(", waits %v, place %d, possible %t, sharded %t", w.Age, w.Place.Number(), w.Place.IsPossible(), w.Sharded)
	}
	return line
}

// An asks is an Obtain, what it is answered, and what it asks.
type asks struct {
	client   []redislock.ClientOption
	says     []string
	known    bool // the caller has chosen the token
	fresh    bool // and says that nobody has used it before
	ctx      func(context.Context) context.Context
	set      redislock.Set
	opt      redislock.Options
	replicas string        // the answer to a WAIT
	slow     time.Duration // for how long a Release has to wait for its answer
	stays    bool          // until that answer has come
	err      string        // empty: it succeeds
	want     string
}

// run obtains, and compares.
func (c *asks) run(t *testing.T) {
	t.Helper()
	s := newAsked(c.says...)
	client := world.NewClient(t, s.Client(t), c.client...)
	ctx := t.Context()
	if c.ctx != nil {
		ctx = c.ctx(ctx)
	}
	obtain := client.ObtainSet
	if token := owners.NewToken(); c.known {
		obtain = client.As(token).ObtainSet
		if c.fresh {
			ctx = owners.Fresh(ctx, token)
		}
	}
	s.Wait, s.slow = c.replicas, c.slow
	_, err := obtain(ctx, c.set, time.Minute, &c.opt)
	got := ""
	if err != nil {
		got = err.Error()
	}
	if got != c.err {
		t.Errorf("got error:\n%s\nwant:\n%s", got, c.err)
	}
	returned := time.Now()
	time.Sleep(15 * time.Second) // for a clean-up
	s.mu.Lock()
	defer s.mu.Unlock()
	if waited := returned.Sub(s.last); c.slow > 0 && (waited > 0) != c.stays {
		t.Errorf("it has returned %v after it had begun to take back what it did, want it to wait for the answer: %t", waited, c.stays)
	}
	if diff := cmp.Diff(strings.Split(strings.Trim(c.want, "\n"), "\n"), s.lines); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
}

// What an Obtain asks says all that matters: which keys in which mode, under which value, for how long, on what terms. If it fails,
// it takes back what it may have done, and only that.
func TestWhatAnObtainAsks(t *testing.T) {
	t.Parallel()
	for name, c := range obtainsThatAsk() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { c.run(t) })
		})
	}
}
