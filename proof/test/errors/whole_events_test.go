package errors_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A diary is what the hooks and the log of a Client are told, as one line each: in which context, about what, and after how long.
type diary struct {
	check.Log
	lines []string
}

// Handle notes a record, and keeps it.
func (d *diary) Handle(ctx context.Context, r slog.Record) error {
	d.lines = append(d.lines, fmt.Sprintf("log of %v", check.PageOf(ctx)))
	return d.Log.Handle(ctx, r)
}

// hooks note the events.
func (d *diary) hooks() redislock.Hooks {
	note := func(name string) func(context.Context, redislock.Event) {
		return func(ctx context.Context, e redislock.Event) {
			text := "no error"
			if e.Err != nil {
				text = e.Err.Error()
			}
			d.lines = append(d.lines, fmt.Sprintf("%s of %v: %q %s %s after %v and %d: %s",
				name, check.PageOf(ctx), e.Keys, e.Mode, e.Way, e.Duration, e.Attempts, text))
		}
	}
	return redislock.Hooks{Waiting: note("waiting"), Waited: note("waited"), Obtained: note("obtained"), Refused: note("refused")}
}

// The hooks and the log get the context of the caller, with everything that was put into it. What an Obtain has waited is told by
// itself, and with its outcome; one that does not wait any more because its time is over says nothing of waiting.
func TestWholeEvents(t *testing.T) {
	const (
		held      = world.HeldBySomebody
		given     = ":1\r\n"
		overtaken = ":-3\r\n"
		tenth     = 100 * time.Millisecond

		waiting  = `waiting of caller: ["k"] write`
		waited   = `waited of caller: ["k"] write`
		obtained = `obtained of caller: ["k"] write`
		refused  = `refused of caller: ["k"] write`
		tooLate  = `redislock: obtain "k": not obtained: the answer took 4.0s, which leaves nothing of a ttl of 3s; the keys are given back`
		holder   = `redislock: "k" is write-locked by a holder that says nothing of itself, 1m00s left`
	)
	every := redislock.Options{RetryStrategy: redislock.LinearBackoff(time.Second)}
	lines := func(all ...string) []string { return all }
	for name, c := range map[string]struct {
		telling
		want []string
	}{
		"at once": {
			telling{answers: []string{given}, opt: every},
			lines(obtained + ` poll after 0s and 1: no error`),
		},
		"after a while": {
			telling{answers: []string{held, held, given}, takes: tenth, opt: every},
			lines(
				waiting+` poll after 100ms and 1: `+holder,
				waited+` poll after 2.2s and 3: no error`,
				obtained+` poll after 2.3s and 3: no error`,
			),
		},
		"not at all": {
			telling{answers: []string{held}, within: 15 * tenth, opt: every},
			lines(
				waiting+` poll after 0s and 1: `+holder,
				waited+` poll after 1.5s and 2: redislock: obtain "k": context deadline exceeded after 1.5s and 2 attempts: `+holder,
				refused+` poll after 1.5s and 2: redislock: obtain "k": context deadline exceeded after 1.5s and 2 attempts: `+holder,
			),
		},
		"nobody answers": {
			telling{answers: []string{""}},
			lines("log of caller", refused+` once after 5s and 1: redislock: obtain "k": outcome not known: read pipe: i/o timeout`),
		},
		"its time is over before it waits": {
			telling{answers: []string{held}, takes: tenth / 2, within: tenth / 5, opt: every},
			lines(refused + ` poll after 50ms and 1: redislock: obtain "k": context deadline exceeded after 50ms and 1 attempt: ` + holder),
		},
		"the same in line": {
			telling{answers: []string{held, world.InPlace(1, 1)}, takes: tenth / 2, within: tenth / 5, opt: *world.Queue()},
			lines(refused + ` queue after 50ms and 1: redislock: obtain "k": context deadline exceeded after 50ms and 1 attempt: ` + holder),
		},
		"every answer comes too late for one in line": {
			telling{answers: []string{given}, takes: 40 * tenth, ttl: 30 * tenth, opt: *world.Queue()},
			lines(
				waiting+` queue after 4s and 1: `+tooLate,
				waited+` queue after 12s and 4: `+tooLate,
				refused+` queue after 16s and 4: `+tooLate,
			),
		},
		"another lock of its token is always sooner": {
			telling{answers: []string{overtaken}, takes: tenth}, // 101 times
			lines("log of caller", refused+` once after 10.1s and 1: redislock: obtain "k": outcome not known: `+
				`unexpected reply to obtain: int64`),
		},
		"its Wait is over before it waits": {
			telling{
				answers: []string{held}, takes: tenth / 2,
				opt: redislock.Options{RetryStrategy: every.RetryStrategy, Wait: tenth / 5},
			},
			lines(refused + ` poll after 50ms and 1: redislock: obtain "k": the time of Options.Wait is over after 50ms and 1 attempt: ` + holder),
		},
	} {
		t.Run(name, func(t *testing.T) {
			world.Bubble(t, func(t *testing.T, _ *world.World, _ *redistest.Mini, _ *world.Journal) {
				d := new(diary)
				if c.ttl == 0 {
					c.ttl = time.Minute
				}
				_ = c.tell(t, d, redislock.WithHooks(d.hooks())) // the hooks are told of the error
				if diff := cmp.Diff(c.want, d.lines); diff != "" {
					t.Errorf("what was told (-want +got):\n%s", diff)
				}
			})
		})
	}
}
