package break_test

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/listen"
	"github.com/seed-14de3678/redislock/internal/proto/decode"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A breaking is a Client whose Breaks are answered as a test says, and what it has sent and logged.
type breaking struct {
	client  *redislock.Client
	rdb     *redis.Client
	book    check.Log
	mu      sync.Mutex
	answers []any         // to its Breaks, in this order; then the server answers
	late    time.Duration // by which the answer of a server to a Break is late
	runs    []decode.Call // Breaks, and clean-ups that were answered; with their contexts:
	pages   []string
}

// newBreaking makes a Client with a prefix that sends a Break as often as there are answers.
func newBreaking(t *testing.T, mini *redistest.Mini, answers ...any) *breaking {
	t.Helper()
	warm := world.NewClient(t, mini.Client(t)) // so that the server knows the scripts
	check.Must[[]redislock.Holder](t)(warm.Break(t.Context(), []string{"free"}, ""))
	check.NoError(t, check.Must[*redislock.Lock](t)(warm.ObtainRead(t.Context(), []string{"free"}, time.Hour, nil)).Release(t.Context()))
	b := &breaking{answers: answers, rdb: mini.Client(t, func(o *redis.Options) { o.MaxRetries = cmp.Or(len(answers)-1, -1) })}
	b.rdb.AddHook(check.Seeing(func(ctx context.Context, cmd redis.Cmder) {
		if run := check.RunIn(cmd); run.Of("break", "release") {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.runs, b.pages = append(b.runs, run.Call), append(b.pages, run.Script+" "+check.PageOf(ctx))
		}
	}))
	b.rdb.AddHook(check.Around{
		Instead: func(cmd redis.Cmder) bool {
			b.mu.Lock()
			defer b.mu.Unlock()
			if !check.RunIn(cmd).Of("break") || len(b.answers) == 0 {
				return false
			}
			answer := b.answers[0]
			b.answers = b.answers[1:]
			return check.Answer(cmd, answer)
		},
		After: func(cmd redis.Cmder) {
			if check.RunIn(cmd).Of("break") {
				time.Sleep(b.late)
			}
		},
	})
	b.client = world.NewClient(t, b.rdb, redislock.WithLogger(slog.New(&b.book)), redislock.WithKeyPrefix("p:"))
	return b
}

// What a Break says that did not go well is the error of all its keys, and the log has it, in the context of the caller.
func TestBreakSays(t *testing.T) {
	const of = `redislock: break "a" and 1 more: `
	const unknown = "WARN redislock: outcome of break is not known keys=[a b] reason=it hangs error="
	const unblocked = "UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)"
	refused := world.Refusal("NOPERM no")
	for name, c := range map[string]struct {
		answers []any
		says    string // the error; empty: none
		logs    string
	}{
		"done":                    {nil, "", "WARN redislock: locks broken keys=[a b] holders=1 reason=it hangs on mine"},
		"refused":                 {[]any{refused}, of + "NOPERM no", ""},
		"unanswered":              {[]any{io.EOF}, of + "outcome not known: EOF", unknown + of + "outcome not known: EOF on mine"},
		"unanswered, and refused": {[]any{io.EOF, refused}, of + "outcome not known: NOPERM no", unknown + of + "outcome not known: NOPERM no on mine"},
		"changed meanwhile": {
			[]any{world.Refusal(unblocked)},
			of + "outcome not known: " + unblocked,
			unknown + of + "outcome not known: " + unblocked + " on mine",
		},
		"unanswered, and done": {
			[]any{io.EOF, int64(-3)},
			"",
			"WARN redislock: locks broken, the answer that says whose was lost keys=[a b] reason=it hangs on mine",
		},
		"foreign": {nil, of + `invalid keys: "a" is foreign: it holds a list without a TTL that is no lock`, ""},
		"garbled": {[]any{int64(7)}, of + "unexpected reply to break: int64", ""},
	} {
		t.Run(name, func(t *testing.T) {
			world.Bubble(t, func(t *testing.T, _ *world.World, mini *redistest.Mini, _ *world.Journal) {
				b := newBreaking(t, mini, c.answers...)
				check.Must[*redislock.Lock](t)(b.client.Obtain(t.Context(), []string{"b"}, time.Hour, nil))
				if name == "foreign" {
					check.NoError(t, b.rdb.RPush(t.Context(), "p:a", "data").Err())
				}
				_, err := b.client.Break(check.OnPage(t.Context(), "mine"), []string{"a", "b"}, "it hangs")
				said := ""
				if err != nil {
					said = err.Error()
				}
				time.Sleep(time.Minute)
				synctest.Wait()
				var logs []string
				if c.logs != "" {
					logs = []string{c.logs}
				}
				if diff := gocmp.Diff([]any{c.says, logs}, []any{said, b.book.Lines()}); diff != "" {
					t.Errorf("error, and log (-want +got):\n%s", diff)
				}
			})
		})
	}
	world.Bubble(t, func(t *testing.T, _ *world.World, mini *redistest.Mini, _ *world.Journal) {
		b := newBreaking(t, mini)
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errors.New("enough"))
		_, err := b.client.Break(ctx, []string{"a", "b"}, "")
		if want := of + "not asked: enough"; err == nil || err.Error() != want {
			t.Errorf("got error %v, want %s", err, want)
		}
	})
}

// A Break whose context ends goes on no longer than 100 ms. What it has done all the same is logged when its answer comes. Its
// clean-up names the line of its key also when there is nothing left to close.
func TestBreakSaysWhatCameLate(t *testing.T) {
	world.Bubble(t, func(t *testing.T, _ *world.World, mini *redistest.Mini, _ *world.Journal) {
		b, began := newBreaking(t, mini), time.Now()
		check.Must[*redislock.Lock](t)(b.client.Obtain(t.Context(), []string{"b"}, time.Hour, nil))
		b.late = 5 * time.Second
		b.rdb.AddHook(check.Around{Instead: func(cmd redis.Cmder) bool { // it is cleaned up once its answer has come
			return check.RunIn(cmd).Of("release") && time.Since(began) < 10*time.Second && check.Answer(cmd, world.Refusal("LOADING not yet"))
		}})
		ctx, cancel := context.WithTimeout(check.OnPage(t.Context(), "mine"), time.Second)
		defer cancel()
		_, err := b.client.Break(ctx, []string{"a", "b"}, "it hangs")
		if took := time.Since(began); took != 1100*time.Millisecond {
			t.Errorf("it has taken %v", took)
		}
		check.Is(t, err, redislock.ErrUnknownOutcome, context.DeadlineExceeded)
		time.Sleep(time.Minute)
		synctest.Wait()
		const says = `redislock: break "a" and 1 more: outcome not known: context deadline exceeded`
		want := []string{
			"WARN redislock: outcome of break is not known keys=[a b] reason=it hangs error=" + says + " on mine",
			"WARN redislock: locks broken keys=[a b] holders=1 reason=it hangs",
		}
		if diff := gocmp.Diff(want, b.book.Lines()); diff != "" || err.Error() != says {
			t.Errorf("got error %v and log (-want +got):\n%s", err, diff)
		}
		for _, run := range b.runs[1:] {
			if diff := gocmp.Diff([]string{"p:a", "redislock:line:{p:a}"}, run.Keys); diff != "" {
				t.Errorf("keys of a clean-up (-want +got):\n%s", diff)
			}
		}
		if last := b.runs[len(b.runs)-1]; len(b.runs) < 4 || last.Can.Close {
			t.Errorf("got %d requests, of which the last closes something: %t", len(b.runs), last.Can.Close)
		}
	})
}

// A Break names all keys, their lines and their numbers, and tells of it those who listen. Its context is that of the caller.
// If it was not answered, one request closes it: for its first key alone, without numbers.
func TestBreakAsks(t *testing.T) {
	world.Bubble(t, func(t *testing.T, _ *world.World, mini *redistest.Mini, _ *world.Journal) {
		b := newBreaking(t, mini, io.EOF)
		_, err := b.client.Break(check.OnPage(t.Context(), "mine"), []string{"a", "b"}, "it hangs")
		check.Is(t, err, redislock.ErrUnknownOutcome)
		time.Sleep(time.Minute)
		synctest.Wait()
		if diff := gocmp.Diff([]string{"break mine", "release "}, b.pages); diff != "" {
			t.Fatalf("requests (-want +got):\n%s", diff)
		}
		asked, closed := b.runs[0], b.runs[1]
		text := listen.Notice{Reason: "it hangs", Keys: []string{"p:a", "p:b"}}.Text()
		if asked.Break.Channel != "redislock:break" || asked.Break.Text != text {
			t.Errorf("got %q on channel %q, want %q", asked.Break.Text, asked.Break.Channel, text)
		}
		keys := []string{"p:a", "p:b", "redislock:line:{p:a}", "redislock:line:{p:b}", "redislock:fence:{p:a}", "redislock:fence:{p:b}"}
		if diff := gocmp.Diff(keys, asked.Keys); diff != "" {
			t.Errorf("keys (-want +got):\n%s", diff)
		}
		if diff := gocmp.Diff([]string{"p:a", "redislock:line:{p:a}"}, closed.Keys); diff != "" {
			t.Errorf("keys of the clean-up (-want +got):\n%s", diff)
		}
		if !closed.Can.Close || len(closed.Stamp.Closes) != 1 || closed.Value != asked.Value {
			t.Errorf("got %+v, want that it closes the Break", closed.Stamp)
		}
	})
}
