package script_test

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// A shortCut is a part of a script that does what the rest would do as well, only sooner.
type shortCut struct {
	name, script string
	off          []string                   // what stands in the source, and what there stands instead of it without the short cut
	call         []any                      // what stands behind the source
	before       func(pipe redis.Pipeliner) // each run
}

const (
	benchValue = "0123456789012345678901|host"
	otherValue = "9876543210987654321098|host"
)

// shortCuts are all that the scripts have. What each gains stands beside it in the script.
func shortCuts(tb testing.TB, s *fixture) []shortCut {
	tb.Helper()
	one, eight := []string{s.key("one")}, numbered(s.key("eight"), 8)
	batch := numbered(s.key("batch"), 20)
	lines := func(keys []string) []string { return linesOf(keys) }
	set := func(keys []string, value string) func(redis.Pipeliner) {
		return func(pipe redis.Pipeliner) {
			for _, key := range keys {
				pipe.Set(tb.Context(), key, value, longLease)
			}
		}
	}
	free := func(keys ...string) func(redis.Pipeliner) {
		return func(pipe redis.Pipeliner) { pipe.Del(tb.Context(), append(lines(keys), keys...)...) }
	}
	guarded := func(keys ...string) func(redis.Pipeliner) {
		return func(pipe redis.Pipeliner) {
			free(keys...)(pipe)
			for _, line := range lines(keys) {
				score := float64(1<<52) + float64((time.Now().Unix()+300)<<20)
				pipe.ZAdd(tb.Context(), line, redis.Z{Score: score, Member: "another owner's token"})
			}
		}
	}
	waited := func(keys []string) func(redis.Pipeliner) {
		f := fakeWaiter{id: "0123456789012345678901", write: keys, place: 1000, ttl: longLease}
		return func(pipe redis.Pipeliner) {
			for i, line := range lines(keys) {
				pipe.ZAdd(tb.Context(), line, redis.Z{Score: float64(f.place), Member: f.entry(s, keys[i], time.Now())})
			}
		}
	}
	s.listenAs(tb, fakeWaiter{id: "0123456789012345678901"})
	both := func(fns ...func(redis.Pipeliner)) func(redis.Pipeliner) {
		return func(pipe redis.Pipeliner) {
			for _, fn := range fns {
				fn(pipe)
			}
		}
	}
	call := func(q proto.Request) []any { return runOf(q, owners.Stamp{}).Append(nil) }
	value := benchValue
	plainly := func(keys []string) []any {
		return call(&proto.Obtain{Set: lockKeys(keys, nil), Value: &value, TTL: longLease})
	}
	releases := func(keys []string) []any { return call(&proto.Release{Set: lockKeys(keys, nil), Value: &value}) }
	gives := func(keys []string) []any {
		r := runOf(&proto.Release{Set: lockKeys(keys, nil), Value: &value}, owners.Stamp{})
		next := otherValue
		r.Give(&proto.Next{Value: &next, TTL: longLease})
		return r.Append(nil)
	}
	standing := func(keys []string) []any {
		return call(fakeWaiter{id: "0123456789012345678902", write: keys, ttl: longLease}.waiterOf(s, proto.Place{}))
	}
	var takes []plain
	for _, key := range batch {
		takes = append(takes, plain{[]string{key}, benchValue, longLease})
	}
	take := bundleOf(takes...)
	return []shortCut{
		{"a free key", "obtain", []string{"if not ARGV[3] then", "if false then", "if there == 0 and not intent then", "if false then"}, plainly(one), free(one...)},
		{"8 free keys", "obtain", []string{"if there == 0 and not intent then", "if false then", "taken = not has_line and", "taken = false and"}, plainly(eight), free(eight...)},
		{"a key that somebody writes", "obtain", []string{"local held = there == 1 and", "local held = false and", "if there and there > 0 then", "if false then"}, plainly(one), both(free(one...), set(one, otherValue))},
		{"8 keys that somebody writes", "obtain", []string{"if there and there > 0 then", "if false then"}, plainly(eight), both(free(eight...), set(eight, otherValue))},
		{"a free key beside guards", "obtain", []string{"if has_line and only_guards(set) then", "if false then"}, plainly(one), guarded(one...)},
		{"8 free keys beside guards", "obtain", []string{"if has_line and only_guards(set) then", "if false then"}, plainly(eight), guarded(eight...)},
		{"a free key, in line", "rw", []string{"if plain and #KEYS == 2 and w == 1 and", "if false and"}, standing(one), free(one...)},
		{"8 free keys, in line", "rw", []string{"if plain and keys_there + lines_there + intents_there == 0 then", "if false then"}, standing(eight), free(eight...)},
		{"a free key beside guards, in line", "rw", []string{"if guarded and #KEYS == 2", "if false and #KEYS == 2"}, standing(one), guarded(one...)},
		{"a held key, in line", "rw", []string{"if plain and #KEYS == 2 and w == 1 and", "if false and", "if plain and id and not stands then", "if false then"}, standing(one), both(free(one...), set(one, otherValue), waited(one))},
		{"8 held keys, in line", "rw", []string{"if plain and id and not stands then", "if false then"}, standing(eight), both(free(eight...), set(eight, otherValue), waited(eight))},
		{"a key that nobody waits for", "release", []string{"if only == ARGV[1] and", "if false and", "elseif whole and not has_line and not gives then", "elseif false then"}, releases(one), both(free(one...), set(one, benchValue))},
		{"8 keys that nobody waits for", "release", []string{"if whole and not has_line then", "if false then", "elseif whole and not has_line and not gives then", "elseif false then"}, releases(eight), both(free(eight...), set(eight, benchValue))},
		{"a key for the next owner", "release", []string{"elseif ARGV[6] == '>' and", "elseif false and"}, gives(one), both(free(one...), set(one, benchValue))},
		{"a key beside guards", "release", []string{"if has_line and whole and not its_id and", "if false and"}, releases(one), both(guarded(one...), set(one, benchValue))},
		{"a key that a writer waits for", "release", []string{"if its_id and tonumber(size) == n and", "if false and"}, releases(one), both(free(one...), set(one, benchValue), waited(one))},
		{"8 keys that a writer waits for", "release", []string{"if its_id and tonumber(size) == n and", "if false and"}, releases(eight), both(free(eight...), set(eight, benchValue), waited(eight))},
		{"20 free keys of a batch", "batch", []string{"if first == last then", "if false then"}, take, free(batch...)},
		{"20 lines of a batch asked for at once", "batch", []string{"if not has_line or call(", "if call("}, take, free(batch...)},
	}
}

// listenAs subscribes to the channel of a fakeWaiter.
func (s *fixture) listenAs(tb testing.TB, f fakeWaiter) {
	tb.Helper()
	if err := s.ear.Subscribe(tb.Context(), f.channel(s)); err != nil {
		tb.Fatal(err)
	}
	go func() {
		for range s.ear.Channel() {
		}
	}()
}

// BenchmarkShortCuts measures how much of a server's time each short cut saves: in alternating runs on one server,
// the median of what a run costs with it, and without. Run it with -benchtime 40x, or more.
func BenchmarkShortCuts(b *testing.B) {
	for _, kind := range redistest.Servers() {
		server := redistest.Start(b, kind)
		rdb := server.Client(b)
		s := &fixture{rdb: rdb, prefix: "bench:", ear: rdb.Subscribe(b.Context())}
		b.Cleanup(func() { _ = s.ear.Close() })
		for _, c := range shortCuts(b, s) {
			b.Run(fmt.Sprintf("%s/%s/%s", kind, c.script, strings.ReplaceAll(c.name, " ", "-")), func(b *testing.B) {
				shas := []string{
					rdb.ScriptLoad(b.Context(), check.SourceOf(c.script)).Val(),
					rdb.ScriptLoad(b.Context(), c.without(b)).Val(),
				}
				spent := make([][]float64, len(shas))
				for b.Loop() {
					for i, sha := range shas {
						spent[i] = append(spent[i], c.cost(b, rdb, sha))
					}
				}
				var median [2]float64
				for i := range spent {
					slices.Sort(spent[i])
					median[i] = spent[i][len(spent[i])/2]
				}
				b.ReportMetric(median[0], "µs-with")
				b.ReportMetric(median[1], "µs-without")
				b.ReportMetric(100*(1-median[0]/median[1]), "%-saved")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// without returns the source of the script in which the short cut is switched off.
func (c shortCut) without(tb testing.TB) string {
	tb.Helper()
	source := check.SourceOf(c.script)
	for i := 0; i < len(c.off); i += 2 {
		if !strings.Contains(source, c.off[i]) {
			tb.Errorf("%s.lua has no %q", c.script, c.off[i])
		}
		source = strings.ReplaceAll(source, c.off[i], c.off[i+1])
	}
	return source
}

// TestShortCutsAreSwitchedOff checks that the benchmark can measure a script without each of its short cuts, and that
// the script does its work without it.
func TestShortCutsAreSwitchedOff(t *testing.T) {
	withFixture(t, func(t *testing.T, s *fixture) {
		for _, c := range shortCuts(t, s) {
			pipe := s.rdb.Pipeline()
			var replies [2]*redis.Cmd
			for i, source := range []string{check.SourceOf(c.script), c.without(t)} {
				c.before(pipe)
				replies[i] = pipe.Do(t.Context(), append([]any{"eval", source}, c.call...)...)
			}
			if _, err := pipe.Exec(t.Context()); err != nil {
				t.Errorf("%s, %s: %v", c.script, c.name, err)
				continue
			}
			if got, want := codeIn(replies[1].Val()), codeIn(replies[0].Val()); got != want {
				t.Errorf("%s, %s: without the short cut the reply begins with %v, with it %v", c.script, c.name, got, want)
			}
		}
	})
}

// codeIn returns the code with which a reply begins.
func codeIn(reply any) any {
	if all, is := reply.([]any); is && len(all) > 0 {
		return all[0]
	}
	return reply
}

// cost returns how many µs of the server's time a run of a script takes.
func (c shortCut) cost(b *testing.B, rdb *redis.Client, sha string) float64 {
	b.Helper()
	pipe := rdb.Pipeline()
	pipe.ConfigResetStat(b.Context())
	command := append([]any{"evalsha", sha}, c.call...)
	for range 200 {
		c.before(pipe)
		pipe.Do(b.Context(), command...)
	}
	stats := pipe.Info(b.Context(), "commandstats")
	if _, err := pipe.Exec(b.Context()); err != nil {
		b.Fatal(err)
	}
	found := regexp.MustCompile(`cmdstat_evalsha:.*usec_per_call=([0-9.]+)`).FindStringSubmatch(stats.Val())
	spent, err := strconv.ParseFloat(found[1], 64)
	if err != nil {
		b.Fatal(err)
	}
	return spent
}
