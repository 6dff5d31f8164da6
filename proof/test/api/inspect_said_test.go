package api_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// occupied has keys held, left and waited for in each way, and returns what Inspect is to say of them one second later.
func occupied(ctx context.Context, t *testing.T, w *world.World) []redislock.KeyState {
	t.Helper()
	c, must, began := w.Prefixed(t).Client, check.Must[*redislock.Lock](t), time.Now()
	const hour, left = time.Hour, time.Hour - time.Second
	me := redislock.WithCaller(ctx, "me")
	writer := must(c.Obtain(me, []string{"w"}, hour, &redislock.Options{Metadata: "writer", Fenced: true}))
	must(c.ObtainRead(ctx, []string{"r"}, 2*hour, &redislock.Options{Metadata: "last"}))
	must(c.ObtainRead(me, []string{"r"}, hour, nil))
	check.NoError(t, must(c.Obtain(ctx, []string{"l"}, hour, &redislock.Options{Metadata: "gone"})).Leave(ctx, hour))
	check.NoError(t, w.RDB.LPush(ctx, w.Key("f"), "x").Err())
	wait := func(key, metadata string, read bool, opt redislock.Options) {
		set := redislock.Set{Write: []string{key}}
		if opt.Metadata = metadata; read {
			set = redislock.Set{Read: set.Write}
		}
		go func() { _, _ = c.ObtainSet(world.Apart(me), set, hour, &opt) }()
		synctest.Wait()
	}
	wait("r", "intends", false, redislock.Options{Intent: true, RetryStrategy: redislock.LinearBackoff(hour)})
	wait("w", "first", false, redislock.Options{Queue: true})
	wait("w", "second", true, redislock.Options{Queue: true})
	time.Sleep(time.Second)
	return []redislock.KeyState{
		{
			Key: "w", Mode: redislock.ModeWrite, TTL: left, Fence: writer.Fence(),
			Holders: []redislock.Holder{{Key: "w", Mode: redislock.ModeWrite, Metadata: "writer", Caller: "me", TTL: left, Since: began}},
			Line: []redislock.Waiter{
				{Mode: redislock.ModeWrite, Metadata: "first", Caller: "me", Since: began, Alive: true},
				{Mode: redislock.ModeRead, Metadata: "second", Caller: "me", Since: began.Add(time.Microsecond), Alive: true},
			},
		},
		{
			Key: "r", Mode: redislock.ModeRead, TTL: left + hour,
			Holders: []redislock.Holder{
				{Key: "r", Mode: redislock.ModeRead, Caller: "me", TTL: left, Since: began},
				{Key: "r", Mode: redislock.ModeRead, Metadata: "last", TTL: left + hour, Since: began},
			},
			Intent: &redislock.Holder{Key: "r", Mode: redislock.ModeIntent, Metadata: "intends", Caller: "me", TTL: hour, Since: began},
		},
		{
			Key: "l", Mode: redislock.ModeWrite, TTL: left,
			Holders: []redislock.Holder{{Key: "l", Mode: redislock.ModeWrite, Metadata: "gone", Left: true, TTL: left}},
		},
		{Key: "f", Mode: redislock.ModeForeign, Type: "list", TTL: -time.Millisecond},
		{Key: "free", Mode: redislock.ModeFree},
	}
}

// Inspect says all that is known of a key: with the names, the times and the number.
func TestInspectSaysAll(t *testing.T) {
	world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
		ctx, cancel := context.WithCancel(t.Context())
		defer synctest.Wait()
		defer cancel()
		want := occupied(ctx, t, w)
		got := check.Must[[]redislock.KeyState](t)(w.Prefixed(t).Client.Inspect(ctx, []string{"w", "r", "l", "f", "free"}))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("states (-want +got):\n%s", diff)
		}
	})
}

// An Inspect that fails says at which key, of several the first one. It passes its context on, and ends when that ends.
func TestInspectSaysWhatFailed(t *testing.T) {
	world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
		answers := map[string]any{w.Key("no"): world.Refusal("NOPERM no"), w.Key("neither"): world.Refusal("NOPERM neither"), w.Key("odd"): int64(7)}
		rdb := mini.Client(t)
		var mu sync.Mutex
		var pages []string
		rdb.AddHook(check.Seeing(func(ctx context.Context, cmd redis.Cmder) {
			if check.RunIn(cmd).Of("inspect") {
				mu.Lock()
				defer mu.Unlock()
				pages = append(pages, check.PageOf(ctx))
			}
		}))
		rdb.AddHook(check.Around{
			Instead: func(cmd redis.Cmder) bool {
				run := check.RunIn(cmd)
				answer, is := any(nil), run.Of("inspect")
				if is {
					answer, is = answers[run.Keys[0]]
				}
				return is && check.Answer(cmd, answer)
			},
			After: func(cmd redis.Cmder) {
				if run := check.RunIn(cmd); run.Of("inspect") && run.Keys[0] == w.Key("slow") {
					time.Sleep(time.Minute)
				}
			},
		})
		client := world.NewClient(t, rdb, redislock.WithKeyPrefix(w.Prefix))
		for _, c := range []struct{ keys, want string }{
			{"no", `"no": NOPERM no`},
			{"a no b neither c", `"no": NOPERM no`},
			{"a neither no", `"neither": NOPERM neither`},
			{"odd", `"odd": unexpected reply`},
			{"slow no", `"slow": outcome not known: context deadline exceeded`},
		} {
			began := time.Now()
			ctx, cancel := context.WithTimeout(check.OnPage(t.Context(), "mine"), time.Second)
			states, err := client.Inspect(ctx, strings.Fields(c.keys))
			cancel()
			if want := "redislock: inspect " + c.want; states != nil || err == nil || err.Error() != want {
				t.Errorf("%s: got %v and error %v, want %s", c.keys, states, err, want)
			}
			if took := time.Since(began); took > time.Second {
				t.Errorf("%s: it has taken %v", c.keys, took)
			}
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		if diff := cmp.Diff([]string{"mine"}, slices.Compact(pages)); diff != "" {
			t.Errorf("contexts (-want +got):\n%s", diff)
		}
	})
}

// The text about a key joins its holders, and its waiters, however many they are.
func TestKeyStateOfThree(t *testing.T) {
	t.Parallel()
	holder, waiter := redislock.Holder{Metadata: "h", TTL: time.Second}, redislock.Waiter{Mode: redislock.ModeRead, Since: time.Unix(0, 0), Alive: true}
	state := redislock.KeyState{
		Key: "k", Mode: redislock.ModeRead,
		Holders: []redislock.Holder{holder, holder, holder}, Line: []redislock.Waiter{waiter, waiter, waiter},
	}
	const waits = "somebody to read since 1970-01-01T00:00:00Z"
	want := `"k" is read-locked by h (1.0s left) and h (1.0s left) and h (1.0s left); in line: ` + waits + ", " + waits + ", " + waits
	if got := state.String(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Metadata stand in a text up to 200 bytes, as they are or quoted. A conflict of each kind names who is in the way, or nobody.
func TestConflictTexts(t *testing.T) {
	t.Parallel()
	most, odd := strings.Repeat("x", 200), strings.Repeat("x", 199)+"é"
	for _, c := range []struct {
		err  redislock.ConflictError
		want string
	}{
		{redislock.ConflictError{Mode: redislock.ModeWrite, Metadata: most}, "is write-locked by " + most + ", 0s left"},
		{redislock.ConflictError{Mode: redislock.ModeWrite, Metadata: most + "x"}, "is write-locked by " + most + "…, 0s left"},
		{redislock.ConflictError{Mode: redislock.ModeRead, Metadata: odd, Caller: "c"}, `is read-locked by "` + most[1:] + `\xc3"… caller=c, 0s left`},
		{redislock.ConflictError{Mode: redislock.ModeRead, TTL: -1}, "is read-locked by a holder that says nothing of itself, without a TTL"},
		{redislock.ConflictError{Mode: redislock.ModeIntent}, "is kept for a waiting writer, 0s left"},
		{redislock.ConflictError{Mode: redislock.ModeIntent, Caller: "c"}, "is kept for a waiting writer, caller=c, 0s left"},
		{redislock.ConflictError{Mode: redislock.ModeQueue}, "is kept for those who stand in line, 0s left"},
		{redislock.ConflictError{Mode: redislock.ModeQueue, Metadata: "m"}, "is kept for those who stand in line, before all for m, 0s left"},
		{
			redislock.ConflictError{Mode: redislock.ModeWrite, Left: true},
			"is kept write-locked after the work of a holder that says nothing of itself, 0s to go",
		},
		{redislock.ConflictError{Mode: redislock.ModeRead, Left: true, Metadata: "m"}, "is kept read-locked after the work of m, 0s to go"},
		{redislock.ConflictError{Mode: redislock.ModeForeign, Type: "set", TTL: time.Second}, "is foreign: it holds a set that is no lock, 1.0s left"},
		{redislock.ConflictError{Mode: redislock.ModeRestarted, TTL: time.Hour}, "is on a server that has restarted, 1h00m left"},
	} {
		c.err.Key = "k"
		if got, want := c.err.Error(), `redislock: "k" `+c.want; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// An Inspect whose context has ended asks for no key.
func TestInspectOfAnEndedContext(t *testing.T) {
	world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errors.New("enough"))
		w.RDB.AddHook(check.Around{Before: func(cmd redis.Cmder) { t.Errorf("it has sent %v", cmd) }})
		_, err := w.Client.Inspect(ctx, w.Keys("a", "b"))
		if err == nil || err.Error() != "redislock: inspect: not asked: enough" {
			t.Errorf("got error %v, want that of ctx", err)
		}
	})
}
