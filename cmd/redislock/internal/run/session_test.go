package run

import (
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/locktest"
)

// The supervisor has as long as the command may take to end, and two seconds more, before it is taken for stuck: the grace, or what
// is left of the lease if that is less, or nothing if the lease is over.
func TestSessionStuck(t *testing.T) {
	t.Parallel()
	const s = time.Second
	for name, tt := range map[string]struct{ ttl, grace, passed, least, most time.Duration }{
		"a long lease":      {ttl: 60 * s, grace: 10 * s, least: 12 * s, most: 12 * s},
		"no grace":          {ttl: 60 * s, grace: 0, least: 2 * s, most: 2 * s},
		"a short lease":     {ttl: 6 * s, grace: 10 * s, least: 7*s + s/2, most: 8 * s},
		"most of it passed": {ttl: 20 * s, grace: 10 * s, passed: 16 * s, least: 5*s + s/2, most: 6 * s},
		"it is over":        {ttl: 6 * s, grace: 10 * s, passed: 30 * s, least: 2 * s, most: 2 * s},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server := locktest.New(t, locktest.WithoutCheck())
				lock, err := server.Client().Obtain(t.Context(), []string{"k"}, tt.ttl, nil)
				check.NoError(t, err)
				nobody, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
				check.NoError(t, err)
				defer nobody.Close()
				quiet := newTeller(io.Discard)
				defer quiet.end()
				v := &session{settings: &settings{grace: tt.grace}, tell: quiet, hold: &hold{Lock: lock}, link: &link{out: nobody}}
				time.Sleep(tt.passed)
				began := time.Now()
				v.lose(io.EOF)
				<-v.stuck
				if got := time.Since(began); got < tt.least || got > tt.most {
					t.Errorf("taken for stuck after %v, want %v to %v", got, tt.least, tt.most)
				}
			})
		})
	}
}

// Why the command is ended is said once, and only of one that was started and has not ended: of another it would not be true.
func TestSessionTellsTheEnd(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		heard []message
		want  string
	}{
		"it runs":         {[]message{{Say: sayStarted, Group: 7}, {Say: sayLate}, {Say: sayLate}}, "redislock run: the command is ended: the lease ends soon, and no renewal was confirmed\n"},
		"it never ran":    {heard: []message{{Say: sayLate}}},
		"it has ended":    {heard: []message{{Say: sayStarted, Group: 7}, {Say: sayEnded}, {Say: sayLate}}},
		"it cannot begin": {heard: []message{{Say: sayFailed, Text: "no such file", Status: 127}, {Say: sayLate}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var said strings.Builder
			tell := newTeller(&said)
			v := &session{tell: tell, hold: &hold{}}
			for _, m := range tt.heard {
				v.hear(m)
			}
			tell.end()
			<-tell.done
			if got := said.String(); got != tt.want {
				t.Errorf("said %q, want %q", got, tt.want)
			}
		})
	}
}

// A command finds each variable once, as this redislock run has set it, and everything else as it was.
func TestEnviron(t *testing.T) {
	t.Parallel()
	outer := []string{"REDISLOCK_KEYS=outer", "A=1", "REDISLOCK_FENCE=7", "REDISLOCK_KEYS_OLD=x", "REDISLOCK_FENCE=8", "EMPTY="}
	for fence, want := range map[int64][]string{
		0:  {"A=1", "REDISLOCK_KEYS_OLD=x", "EMPTY=", "REDISLOCK_KEYS=a 'b c'"},
		42: {"A=1", "REDISLOCK_KEYS_OLD=x", "EMPTY=", "REDISLOCK_FENCE=42", "REDISLOCK_KEYS=a 'b c'"},
	} {
		given := slices.Clone(outer)
		if got := environ(given, []string{"a", "b c"}, fence, true); !slices.Equal(got, want) {
			t.Errorf("with the number %d: %q, want %q", fence, got, want)
		}
		if !slices.Equal(given, outer) {
			t.Errorf("its own environment has become %q", given)
		}
	}
}
