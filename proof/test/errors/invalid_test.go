package errors_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A refusing is a Redis client whose commands all fail, and how many it was given.
type refusing struct {
	*redis.Client
	sent atomic.Int64
}

// newRefusing makes a Redis client that answers by itself that nobody may do anything.
func newRefusing(t *testing.T) *refusing {
	t.Helper()
	rdb := &refusing{Client: redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})}
	t.Cleanup(func() { _ = rdb.Close() })
	rdb.AddHook(check.Around{Instead: func(cmd redis.Cmder) bool {
		rdb.sent.Add(1)
		return check.Answer(cmd, world.Refusal("NOPERM"))
	}})
	return rdb
}

// obtains is the error of an Obtain with these options.
func obtains(t *testing.T, client *redislock.Client, keys []string, ttl time.Duration, opt redislock.Options) error {
	t.Helper()
	_, err := client.Obtain(t.Context(), keys, ttl, &opt)
	return err
}

// wantTexts compares what errors say, as a whole.
func wantTexts(t *testing.T, got map[string]error, want map[string]string) {
	t.Helper()
	texts := make(map[string]string, len(got))
	for name, err := range got {
		if texts[name] = "no error"; err != nil {
			texts[name] = err.Error()
		}
	}
	if diff := cmp.Diff(want, texts); diff != "" {
		t.Errorf("texts (-want +got):\n%s", diff)
	}
}

// Each invalid argument is refused before anything is sent. The text says what is wrong with it, and what would be right.
func TestTextsOfInvalidArguments(t *testing.T) {
	t.Parallel()
	rdb, a, minute := newRefusing(t), []string{"a"}, time.Minute
	client := redislock.New(rdb.Client)
	brief := redislock.New(rdb.Client, redislock.WithMinUptime(time.Second))
	of := func(ctx context.Context, client *redislock.Client, n int) error {
		_, err := client.ObtainRead(ctx, world.Numbered("k", n), minute, nil)
		return err
	}
	most := func(n int) *redislock.Client { return redislock.New(rdb.Client, redislock.WithMaxKeys(n)) }
	as := func(token string) error {
		_, err := client.As(token).ObtainRead(t.Context(), a, minute, nil)
		return err
	}
	on := func(id string) error { return of(redislock.WithCaller(t.Context(), id), client, 1) }
	with := func(opt redislock.Options) error { return obtains(t, client, a, minute, opt) }
	_, inspected := client.Inspect(t.Context(), []string{"a", ""})
	_, broken := client.Break(t.Context(), a, strings.Repeat("x", 1025))
	wantTexts(t, map[string]error{
		"no keys":            of(t.Context(), client, 0),
		"empty key":          obtains(t, client, []string{"a", ""}, minute, redislock.Options{}),
		"many keys":          of(t.Context(), client, 1001),
		"more than most":     of(t.Context(), most(20000), 10001),
		"more than least":    of(t.Context(), most(-1), 2),
		"Inspect":            inspected,
		"Break":              broken,
		"no ttl":             obtains(t, client, a, 0, redislock.Options{}),
		"long ttl":           obtains(t, client, a, 366*24*time.Hour, redislock.Options{}),
		"ttl, uptime":        obtains(t, brief, a, minute, redislock.Options{}),
		"HoldAtLeast":        with(redislock.Options{HoldAtLeast: -1}),
		"HoldAtLeast, up":    obtains(t, brief, a, time.Second, redislock.Options{HoldAtLeast: time.Second + 1}),
		"Wait":               with(redislock.Options{Wait: 5}),
		"Name":               with(redislock.Options{Name: strings.Repeat("x", 129)}),
		"metadata":           with(redislock.Options{Metadata: strings.Repeat("x", 4097)}),
		"PassOn":             with(redislock.Options{PassOn: -1, Queue: true}),
		"long PassOn":        with(redislock.Options{PassOn: 30*time.Second + 1, Queue: true}),
		"PassOn, no Queue":   with(redislock.Options{PassOn: 30 * time.Second}),
		"PassOn, HoldAt":     with(redislock.Options{PassOn: time.Second, Queue: true, HoldAtLeast: time.Second}),
		"no token":           as(""),
		"token with a |":     as("a|b"),
		"long token":         as(strings.Repeat("x", 513)),
		"caller":             on("|"),
		"long caller":        on(strings.Repeat("x", 65)),
		"attached, no keys":  client.Attach(nil, "t").Release(t.Context()),
		"attached, no token": client.Attach(a, "").Release(t.Context()),
	}, invalidTexts())
	if n := rdb.sent.Load(); n != 0 {
		t.Errorf("%d commands were sent", n)
	}
}

// invalidTexts is what is said of invalid arguments.
func invalidTexts() map[string]string {
	const caller = ", it may have 1 to 64 of printable ASCII without spaces, '|', '=' and '\"'"
	const nanoseconds = ": a number without a unit counts nanoseconds, write 30*time.Second, for example"
	texts := map[string]string{
		"no keys":          "invalid keys: the set is empty",
		"empty key":        "invalid keys: key 1 of the set is empty",
		"many keys":        "invalid keys: the set has 1001 keys, the limit is 1000 (see WithMaxKeys)",
		"more than most":   "invalid keys: the set has 10001 keys, the limit is 10000 (see WithMaxKeys)",
		"more than least":  "invalid keys: the set has 2 keys, the limit is 1 (see WithMaxKeys)",
		"no ttl":           "invalid ttl: 0s is not between 1ms and 8760h0m0s",
		"long ttl":         "invalid ttl: 8784h0m0s is not between 1ms and 8760h0m0s",
		"ttl, uptime":      "invalid ttl: 1m0s is longer than the 1s of WithMinUptime",
		"HoldAtLeast":      "invalid HoldAtLeast: -1ns is neither 0 nor between 1ms and 8760h0m0s",
		"HoldAtLeast, up":  "invalid HoldAtLeast: 1.000000001s is longer than the 1s of WithMinUptime",
		"Wait":             "invalid Wait: 5ns is neither 0 nor between 1µs and 8760h0m0s" + nanoseconds,
		"Name":             "invalid Name: it has 129 bytes, the limit is 128",
		"metadata":         "invalid metadata: it has 4097 bytes, the limit is 4096",
		"PassOn":           "invalid PassOn: -1ns is not between 0 and half of the ttl, 30s",
		"long PassOn":      "invalid PassOn: 30.000000001s is not between 0 and half of the ttl, 30s",
		"PassOn, no Queue": "invalid PassOn: it needs Queue: a lock is passed on in line",
		"PassOn, HoldAt":   "invalid PassOn: a lock that stays taken by HoldAtLeast is not passed on",
		"no token":         "invalid token: it is empty",
		"token with a |":   `invalid token: it contains "|", which ends a token in Redis`,
		"long token":       "invalid token: it has 513 bytes, the limit is 512",
		"caller":           "invalid caller: the id of WithCaller has 1 byte" + caller,
		"long caller":      "invalid caller: the id of WithCaller has 65 bytes" + caller,
	}
	for name, text := range texts {
		texts[name] = "redislock: obtain: " + text
	}
	texts["Inspect"] = "redislock: inspect: invalid keys: key 1 is empty"
	texts["Break"] = "redislock: break: invalid reason: it has 1 025 bytes, the limit is 1 024"
	texts["attached, no keys"] = "redislock: release: invalid keys: the set is empty"
	texts["attached, no token"] = "redislock: release: invalid token: it is empty"
	return texts
}

// A value at the edge of what an argument may be is sent, and so is the greatest set.
func TestEdgesAreValid(t *testing.T) {
	t.Parallel()
	rdb := newRefusing(t)
	client := world.NewClient(t, rdb.Client, redislock.WithReplicas(0), redislock.WithMinUptime(0), redislock.WithKeyPrefix(strings.Repeat("p", 256)))
	most := world.NewClient(t, rdb.Client, redislock.WithMaxKeys(10000))
	least := world.NewClient(t, rdb.Client, redislock.WithMaxKeys(0))
	brief := world.NewClient(t, rdb.Client, redislock.WithMinUptime(time.Minute))
	a := []string{"a"}
	_, token := client.As(strings.Repeat("x", 512)).Obtain(t.Context(), a, time.Minute, nil)
	_, caller := client.Obtain(redislock.WithCaller(t.Context(), strings.Repeat("x", 64)), a, time.Minute, nil)
	_, broken := client.Break(t.Context(), a, strings.Repeat("x", 1024))
	for name, err := range map[string]error{
		"keys":          obtains(t, client, world.Numbered("k", 1000), time.Minute, redislock.Options{}),
		"repeated keys": obtains(t, client, append(world.Numbered("k", 1000), world.Numbered("k", 1000)...), time.Minute, redislock.Options{}),
		"most keys":     obtains(t, most, world.Numbered("k", 10000), time.Minute, redislock.Options{}),
		"least keys":    obtains(t, least, a, time.Minute, redislock.Options{}),
		"a minute up":   obtains(t, brief, a, time.Minute, redislock.Options{HoldAtLeast: time.Minute}),
		"least times":   obtains(t, client, a, time.Millisecond, redislock.Options{HoldAtLeast: time.Millisecond, Wait: time.Microsecond}),
		"most times":    obtains(t, client, a, 365*24*time.Hour, redislock.Options{HoldAtLeast: 365 * 24 * time.Hour, Wait: 365 * 24 * time.Hour}),
		"texts":         obtains(t, client, a, time.Minute, redislock.Options{Name: strings.Repeat("x", 128), Metadata: strings.Repeat("x", 4096)}),
		"token":         token,
		"caller":        caller,
		"reason":        broken,
	} {
		if !errors.Is(err, world.Refusal("NOPERM")) || errors.Is(err, redislock.ErrInvalid) {
			t.Errorf("%s: got error %v, want that of the server", name, err)
		}
	}
	if n := rdb.sent.Load(); n < 11 {
		t.Errorf("%d commands were sent, want one for each at least", n)
	}
}

// What is wrong with the options of a Client is the error of each of its operations: all that is wrong, in the order of the
// options.
func TestTextsOfInvalidOptions(t *testing.T) {
	t.Parallel()
	rdb := newRefusing(t)
	var nobody *redis.Client
	long := strings.Repeat("x", 257)
	unfit := redislock.New(rdb.Client, redislock.WithMinUptime(-1), redislock.WithReplicas(-2), redislock.WithMinUptime(366*24*time.Hour),
		redislock.WithKeyPrefix(""), redislock.WithKeyPrefix("{a}"), redislock.WithKeyPrefix("a}"), redislock.WithKeyPrefix(long),
		redislock.WithWrapped(nobody), redislock.WithWrapped(rdb), redislock.WithReplicas(-3), redislock.WithMinUptime(0), redislock.WithKeyPrefix("p"))
	const wrong = `invalid WithMinUptime: -1ns is not between 1ms and 8760h0m0s
invalid WithReplicas: -2 is less than 0
invalid WithMinUptime: 8784h0m0s is not between 1ms and 8760h0m0s
WithKeyPrefix was given an empty prefix: without the option there is none
WithKeyPrefix was given "{a}": a prefix has no braces, because hash tags are a matter of the keys
WithKeyPrefix was given "a}": a prefix has no braces, because hash tags are a matter of the keys
WithKeyPrefix was given a prefix of 257 bytes, the limit is 256
WithWrapped was given no Redis client
WithWrapped was given a *errors_test.refusing: it needs the *redis.Client, *redis.ClusterClient or *redis.Ring itself
invalid WithReplicas: -3 is less than 0`
	bare := world.Bare{Scripter: rdb.Client}
	notices := redislock.New(bare, redislock.WithBreakNotices())
	_, inspected := unfit.Inspect(t.Context(), []string{"a"})
	_, broken := unfit.Break(t.Context(), []string{"a"}, "")
	nothing, a := redislock.Options{}, []string{"a"}
	wantTexts(t, map[string]error{
		"Obtain":    obtains(t, unfit, a, time.Minute, nothing),
		"Inspect":   inspected,
		"Break":     broken,
		"Attach":    unfit.Attach(a, "t").Release(t.Context()),
		"no client": obtains(t, redislock.New(nil), a, time.Minute, nothing),
		"replicas":  obtains(t, redislock.New(bare, redislock.WithReplicas(1)), a, time.Minute, nothing),
		"uptime":    obtains(t, redislock.New(bare, redislock.WithMinUptime(1e9)), a, time.Second, nothing),
		"notices":   obtains(t, notices, a, time.Minute, nothing),
		"queue":     obtains(t, redislock.New(bare), a, time.Minute, redislock.Options{Queue: true}),
	}, map[string]string{
		"Obtain":    "redislock: obtain: " + wrong,
		"Inspect":   "redislock: inspect: " + wrong,
		"Break":     "redislock: break: " + wrong,
		"Attach":    "redislock: release: " + wrong,
		"no client": "redislock: obtain: New was given no Redis client: nil",
		"replicas": "redislock: obtain: unsupported operation: WithReplicas asks the server itself, and of a world.Bare only Eval and EvalSha " +
			"are used: give New a *redis.Client, *redis.ClusterClient or *redis.Ring",
		"uptime": "redislock: obtain: unsupported operation: WithMinUptime asks the server itself, and of a world.Bare only Eval and EvalSha " +
			"are used: give New a *redis.Client, *redis.ClusterClient or *redis.Ring",
		"notices": "redislock: obtain: unsupported operation: WithBreakNotices subscribes, and of a world.Bare only Eval and EvalSha " +
			"are used: say with WithWrapped what it wraps",
		"queue": "redislock: obtain: unsupported operation: Options.Queue subscribes, and of a world.Bare only Eval and EvalSha " +
			"are used: say with WithWrapped what it wraps",
	})
	if n := rdb.sent.Load(); n != 0 {
		t.Errorf("%d commands were sent", n)
	}
}

// The sentinels have these texts, which stand in the middle of others.
func TestTextsOfSentinels(t *testing.T) {
	t.Parallel()
	wantTexts(t, map[string]error{
		"ErrNotObtained": redislock.ErrNotObtained, "ErrWaitOver": redislock.ErrWaitOver, "ErrBroken": redislock.ErrBroken,
		"ErrLockNotHeld": redislock.ErrLockNotHeld, "ErrLockLost": redislock.ErrLockLost, "ErrUnknownOutcome": redislock.ErrUnknownOutcome,
		"ErrNotReplicated": redislock.ErrNotReplicated, "ErrCrossSlot": redislock.ErrCrossSlot, "ErrInvalid": redislock.ErrInvalid,
	}, map[string]string{
		"ErrNotObtained": "not obtained", "ErrWaitOver": "the time of Options.Wait is over", "ErrBroken": "lock broken",
		"ErrLockNotHeld": "lock not held", "ErrLockLost": "lock lost", "ErrUnknownOutcome": "outcome not known",
		"ErrNotReplicated": "not replicated", "ErrCrossSlot": "keys are not in one slot", "ErrInvalid": "invalid argument",
	})
}
