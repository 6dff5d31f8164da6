package survey_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/survey"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

func TestMain(m *testing.M) {
	cli.Reachable = time.Minute
	redistest.Main(m)
}

// dial connects to a server as a command does.
func dial(tb testing.TB, server cli.Redis) *cli.Conn {
	tb.Helper()
	conn, err := server.Open(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { conn.Close() })
	return conn
}

func open(tb testing.TB, rdb *redis.Client, prefix string) *cli.Conn {
	tb.Helper()
	return dial(tb, cli.Redis{URL: "redis://" + rdb.Options().Addr, Prefix: prefix})
}

// names returns which keys a survey finds, sorted. It fails the test for one that is found twice.
func names(t *testing.T, conn *cli.Conn, q survey.Query) []string {
	t.Helper()
	found, err := survey1(t.Context(), conn, q)
	check.NoError(t, err)
	if once := slices.Compact(slices.Clone(found)); len(once) < len(found) {
		t.Errorf("found twice: %q", found)
	}
	return found
}

// finds fails the test unless a survey finds these keys, in any order, and no others.
func finds(t *testing.T, conn *cli.Conn, q survey.Query, want ...string) {
	t.Helper()
	if diff := cmp.Diff(slices.Sorted(slices.Values(want)), names(t, conn, q)); diff != "" {
		t.Errorf("pattern %q, foreign %t (-want +got):\n%s", q.Pattern, q.Foreign, diff)
	}
}

func survey1(ctx context.Context, conn *cli.Conn, q survey.Query) (found []string, err error) {
	err = survey.Locks(ctx, conn, q, func(states []redislock.KeyState) error {
		for _, s := range states {
			found = append(found, s.Key)
		}
		return nil
	})
	slices.Sort(found)
	return found, err
}

func TestLocks(t *testing.T) {
	t.Parallel()
	redistest.EachServer(t, func(t *testing.T, kind redistest.Kind) {
		rdb := redistest.Start(t, kind).Client(t)
		want := plant(t, rdb, "")
		foreign(t, rdb, "data:")
		check.NoError(t, rdb.Set(t.Context(), "hidden", "me|metadata", time.Hour).Err())
		var notes survey.Notes
		finds(t, open(t, rdb, ""), survey.Query{Notes: &notes}, want...)
		if all := check.Must[int64](t)(rdb.DBSize(t.Context()).Result()); notes.Keys != all || notes.OwnTokens != 1 || notes.Refused != 0 {
			t.Errorf("got %+v of %d keys", notes, all)
		}
	})
}

// With a prefix every lock behind it is found, whatever its token is, and nothing else.
func TestPrefixedLocks(t *testing.T) {
	t.Parallel()
	rdb := redistest.Start(t, redistest.Redis).Client(t)
	const prefix = "lock[1]*:"
	want := plant(t, rdb, prefix)
	ctx := t.Context()
	check.NoError(t, rdb.Set(ctx, prefix+"own", "me|metadata", time.Hour).Err())
	check.NoError(t, rdb.Set(ctx, prefix+"number", "17", time.Hour).Err())
	plant(t, rdb, "")
	plant(t, rdb, "lock")
	check.NoError(t, rdb.HSet(ctx, prefix+"hash", "a", "b").Err())
	check.NoError(t, rdb.Set(ctx, prefix+"long", strings.Repeat("x", 513), time.Hour).Err())
	check.NoError(t, rdb.Set(ctx, prefix, owners.NewToken(), time.Hour).Err())
	conn := open(t, rdb, prefix)
	finds(t, conn, survey.Query{}, append(want, "own", "number")...)
	for pattern, expected := range map[string][]string{
		"own":           {"own"},
		"own*":          {"own", "own token, fenced"},
		"*ken, fen*":    {"own token, fenced"},
		"star[*]":       {"star*"},
		`waitedstar\*`:  {"waitedstar*"},
		"{tag}x":        {"{tag}x"},
		"{tag}*":        {"{tag}x"},
		"waiteda[}]b":   {"waiteda}b"},
		"waited[}]":     {"waited}"},
		"?intended":     nil,
		"i*":            {"intended"},
		"freed":         nil,
		prefix + "own*": nil,
	} {
		finds(t, conn, survey.Query{Pattern: pattern}, expected...)
	}
}

// Foreign keys are found if they are asked for, and of many some, with how many more there are.
func TestForeign(t *testing.T) {
	t.Parallel()
	rdb := redistest.Start(t, redistest.Redis).Client(t)
	locks := plant(t, rdb, "lock:")
	foreign(t, rdb, "lock:data ")
	foreign(t, rdb, "other:")
	conn := open(t, rdb, "lock:")
	want := slices.Clone(locks)
	for _, name := range []string{"string", "json", "list", "set", "hash", "stream", "zset", "zset of some time", "zset of sessions", "token and data"} {
		want = append(want, "data "+name+" false")
		if name != "token and data" { // which may be one with very long metadata
			want = append(want, "data "+name+" true")
		}
	}
	finds(t, conn, survey.Query{Foreign: true}, append(want, "data token without a TTL")...)
	finds(t, conn, survey.Query{}, locks...)
	pipe := rdb.Pipeline()
	for i := range 1200 {
		pipe.Set(t.Context(), fmt.Sprint("lock:many ", i), "17", 0)
	}
	check.Must[[]redis.Cmder](t)(pipe.Exec(t.Context()))
	var notes survey.Notes
	if got := len(names(t, conn, survey.Query{Pattern: "many *", Foreign: true, Notes: &notes})); got != 1000 || notes.Foreign != 200 {
		t.Errorf("of 1200 foreign keys %d are found, and %d more", got, notes.Foreign)
	}
}

// Of the values of others a few bytes are read, however large they are.
func TestForeignValuesAreNotRead(t *testing.T) {
	t.Parallel()
	rdb := redistest.Start(t, redistest.Redis).Client(t)
	n := foreign(t, rdb, "data:")
	conn := open(t, rdb, "")
	before := world.Info(t, rdb, "Stats", "total_net_output_bytes")
	finds(t, conn, survey.Query{})
	// INFO itself has some kilobytes.
	if sent := world.Info(t, rdb, "Stats", "total_net_output_bytes") - before; sent > 20_000 {
		t.Errorf("%d bytes were sent about %d keys", sent, n)
	}
}

// Keys that vanish, or become something else, between two steps are passed over.
func TestKeysThatChange(t *testing.T) {
	t.Parallel()
	rdb := redistest.Start(t, redistest.Redis).Client(t)
	for i := range 40 {
		check.NoError(t, rdb.Set(t.Context(), fmt.Sprint("k", i), owners.NewToken()+"|x", time.Hour).Err())
		key := fmt.Sprint("z", i)
		check.NoError(t, rdb.ZAdd(t.Context(), key, redis.Z{Score: 1, Member: "x"}).Err())
		check.NoError(t, rdb.Expire(t.Context(), key, time.Hour).Err())
	}
	conn := open(t, rdb, "")
	var steps atomic.Int64
	conn.RDB.AddHook(check.Around{Send: func(cmds []redis.Cmder, send func([]redis.Cmder) error) error {
		if len(cmds) == 1 {
			return send(cmds)
		}
		from := int(steps.Add(1)) * 4
		for i := from; i < from+4; i++ {
			rdb.Del(t.Context(), fmt.Sprint("k", i), fmt.Sprint("z", i))
			rdb.Del(t.Context(), fmt.Sprint("k", i+20), fmt.Sprint("z", i+20))
			rdb.HSet(t.Context(), fmt.Sprint("k", i+20), "f", "v")
			rdb.LPush(t.Context(), fmt.Sprint("z", i+20), "v")
		}
		return send(cmds)
	}})
	left := names(t, conn, survey.Query{})
	if steps.Load() < 4 {
		t.Errorf("%d steps, want 4 at least", steps.Load())
	}
	for _, key := range []string{"k0", "k1", "k2", "k3"} { // these stay
		if !slices.Contains(left, key) {
			t.Errorf("%s is not found, but %q", key, left)
		}
	}
}

// A survey ends soon after its context, or with the error of whoever it has told.
func TestSurveyIsEnded(t *testing.T) {
	t.Parallel()
	rdb := redistest.Start(t, redistest.Redis).Client(t)
	crowd(t, rdb, 5000, []string{"locks"})
	conn := open(t, rdb, "")
	ctx, cancel := context.WithCancel(t.Context())
	found := 0
	err := survey.Locks(ctx, conn, survey.Query{}, func(states []redislock.KeyState) error {
		cancel()
		found += len(states)
		return nil
	})
	if check.Is(t, err, context.Canceled); found == 0 || found > 200 {
		t.Errorf("%d keys were found until its end", found)
	}
	full := errors.New("full")
	check.Is(t, survey.Locks(t.Context(), conn, survey.Query{}, func([]redislock.KeyState) error { return full }), full)
}
