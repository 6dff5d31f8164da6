package outcome_test

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// An error inside the script of a batch may come after some of it was done, unless it shows that nothing
// was. Each call that has shared the script is sent by itself then. If that is not answered either, it depends on the
// first error whether the outcome is known.
func TestErrorOfSharedScript(t *testing.T) {
	t.Parallel()
	for text, unanswered := range map[string]bool{
		"ERR user_script:7: something":                      true,
		"WRONGTYPE Operation against a key":                 true,
		"OOM command not allowed":                           false,
		"NOPERM this user has no permissions":               false,
		"NOAUTH Authentication required.":                   false,
		"MISCONF Redis is configured to save RDB snapshots": false,
		"CROSSSLOT Keys in request don't hash to one slot":  false,
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			world.Bubble(t, func(t *testing.T, _ *world.World, mini *redistest.Mini, _ *world.Journal) {
				for i, err := range obtainedTogether(t, mini, func(cmd redis.Cmder) { cmd.SetErr(world.Refusal(text)) }) {
					if err == nil || !errors.Is(err, world.Refusal(busy)) {
						t.Errorf("got error %v of call %d, want it to be asked for by itself", err, i)
					}
					if got := errors.Is(err, redislock.ErrUnknownOutcome); got != unanswered {
						t.Errorf("got unanswered %t of call %d, want %t: %v", got, i, unanswered, err)
					}
				}
			})
		})
	}
}

// A reply to the script of a batch that is none of its own says as little as one to a call by itself: what was asked for may
// have been done.
func TestStrangeReplyOfSharedScript(t *testing.T) {
	t.Parallel()
	for name, reply := range map[string]any{"short": []any{int64(0)}, "strange": []any{"0", "0"}, "no list": "OK"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			world.Bubble(t, func(t *testing.T, _ *world.World, mini *redistest.Mini, _ *world.Journal) {
				for _, err := range obtainedTogether(t, mini, func(cmd redis.Cmder) { check.Answer(cmd, reply) }) {
					check.Is(t, err, redislock.ErrUnknownOutcome, world.Refusal(busy))
				}
			})
		})
	}
}

const busy = "BUSY Redis is busy running a script"

// obtainedTogether are two Obtains that share a script, because two more are under way when they begin. It
// is answered by the test, and what they send by themselves afterwards finds the server busy.
func obtainedTogether(t *testing.T, mini *redistest.Mini, answer func(cmd redis.Cmder)) []error {
	t.Helper()
	rdb := mini.Client(t)
	client := redislock.New(rdb)
	defer client.Close()
	gate := make(chan struct{})
	shared := false
	rdb.AddHook(check.Around{Instead: func(cmd redis.Cmder) bool {
		run := check.RunIn(cmd)
		switch {
		case run.Of("batch"):
			shared = true
			answer(cmd)
		case slices.Contains(run.Keys, "a"), slices.Contains(run.Keys, "b"):
			cmd.SetErr(world.Refusal(busy))
		default:
			if run.Of("obtain") {
				<-gate
			}
			return false
		}
		return true
	}})
	var all sync.WaitGroup
	obtain := func(key string, err *error) {
		all.Go(func() {
			_, *err = client.Obtain(t.Context(), []string{key}, time.Minute, nil)
		})
		synctest.Wait()
	}
	var others, errs [2]error
	obtain("x", &others[0])
	obtain("y", &others[1])
	obtain("a", &errs[0])
	obtain("b", &errs[1])
	close(gate)
	all.Wait()
	check.NoError(t, errors.Join(others[:]...))
	if !shared {
		t.Fatal("they have not shared a script")
	}
	return errs[:]
}
