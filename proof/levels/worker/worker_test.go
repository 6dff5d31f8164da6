package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/proof/levels/course"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// A listener keeps the last reply of a script that is an array.
type listener struct {
	mu    sync.Mutex
	reply []any
}

func (l *listener) DialHook(next redis.DialHook) redis.DialHook { return next }

func (l *listener) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		l.hear(cmd)
		return err
	}
}

func (l *listener) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		l.hear(cmds...)
		return err
	}
}

func (l *listener) hear(cmds ...redis.Cmder) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, cmd := range cmds {
		script, ok := cmd.(interface{ Val() any }) // a *redis.Cmd, or what the library makes of one
		if !ok || cmd.Err() != nil || !strings.HasPrefix(cmd.Name(), "eval") {
			continue
		}
		if reply, ok := script.Val().([]any); ok {
			l.reply = slices.Clone(reply) // its memory is used again
		}
	}
}

// last is that reply, with its ttl rounded.
func (l *listener) last() []any {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, one := range l.reply {
		if left, ok := one.(int64); ok && left > 1000 {
			l.reply[i] = (time.Duration(left) * time.Millisecond).Round(ttl)
		}
	}
	return l.reply
}

// The least script has the reply of a refusal, and takes a key that is free.
func TestLeast(t *testing.T) {
	t.Parallel()
	rdb := redistest.Start(t, redistest.Redis).Client(t)
	heard := &listener{}
	rdb.AddHook(heard)
	s := overNetwork(rdb)
	t.Cleanup(s.locks.close)
	set := []string{t.Name()}
	held, err := s.locks.obtain(t.Context(), set, ttl, way{metadata: details})
	if err != nil {
		t.Fatal(err)
	}
	var replies [2][]any
	for i, act := range []course.Act{course.Refused, course.Least} {
		if err := s.again(t.Context(), course.Kind{Act: act}, set, held); err != nil {
			t.Fatal(err)
		}
		replies[i] = heard.last()
	}
	if diff := cmp.Diff(replies[0], replies[1]); diff != "" || len(replies[0]) == 0 {
		t.Errorf("reply (-refusal +least script):\n%s", diff)
	}
	if err := held.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, err := least.Run(t.Context(), rdb, set, "a-token", ttl.Milliseconds()).Int(); got != 1 || err != nil {
		t.Errorf("a free key: got %v, %v, want that it is taken", got, err)
	}
	if got := rdb.PTTL(t.Context(), set[0]).Val(); got <= 0 {
		t.Errorf("got a ttl of %s", got)
	}
}

// Orders are answered one by one, in lines.
func TestWork(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Redis)
	free := slices.IndexFunc(course.Kinds, func(k course.Kind) bool { return k.Act == course.Turn && k.Callers == 1 && k.Keys == 1 })
	var out strings.Builder
	in := strings.NewReader(fmt.Sprintf("{\"Kind\":%d,\"Ops\":3}\n{\"Kind\":%d,\"Ops\":2}\n", free, free))
	if err := work(t.Context(), server.Addr(), in, &out); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); strings.Count(got, "\n") != 2 || !strings.Contains(got, `"Ops":3`) || strings.Contains(got, "Failed") {
		t.Errorf("got %s", got)
	}
	if err := work(t.Context(), server.Addr(), strings.NewReader("no order"), &out); err == nil {
		t.Error("got no error for what is no order")
	}
}

func TestOfServer(t *testing.T) {
	t.Parallel()
	cpu := map[string]string{"used_cpu_user": "1.5", "used_cpu_sys": "0.000250"}
	stats := map[string]string{"total_net_input_bytes": "100", "total_net_output_bytes": "20"}
	commands := map[string]string{
		"cmdstat_set": "calls=3,usec=9", "cmdstat_evalsha": "calls=9,usec=9", "cmdstat_info": "calls=1,usec=9",
		"cmdstat_client|setinfo": "calls=2,usec=9", "cmdstat_pexpire": "calls=4,usec=9",
	}
	got, err := ofServer(cpu, stats, commands)
	if want := (course.Usage{Server: 1500250 * time.Microsecond, Bytes: 120, Commands: 7}); err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	for what, of := range map[string]map[string]string{"used_cpu_user": cpu, "total_net_output_bytes": stats, "cmdstat_set": commands} {
		kept := of[what]
		of[what] = "calls=none"
		if _, err := ofServer(cpu, stats, commands); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: got %v, want an error that names it", what, err)
		}
		of[what] = kept
	}
}

// Callers at once share their commands in memory, too, as they do over a network: otherwise each would have its answer before the
// next one asks.
func TestAtOnceInMemory(t *testing.T) {
	t.Parallel()
	s := inMemory(redistest.Start(t, redistest.Redis).Addr())
	t.Cleanup(func() { s.locks.close(); _ = s.rdb.Close() })
	commands := func(kind course.Kind) int {
		counted := &counter{}
		s.rdb.AddHook(counted)
		kind.Act, kind.Place, kind.Keys, kind.Each = course.Turn, course.Memory, 1, true
		if _, err := s.block(t.Context(), meter{}, kind, course.Order{Ops: 640}); err != nil {
			t.Fatal(err)
		}
		return int(counted.n.Load())
	}
	many, one := commands(course.Kind{Callers: 64}), commands(course.Kind{Callers: 1})
	if one < 2*640 || many > one/4 {
		t.Errorf("got %d commands for one caller, %d for 64 at once; want two for each turn, and much less", one, many)
	}
}

// A counter counts commands.
type counter struct{ n atomic.Int64 }

func (*counter) DialHook(next redis.DialHook) redis.DialHook { return next }

func (c *counter) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c.n.Add(1)
		return next(ctx, cmd)
	}
}

func (c *counter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		c.n.Add(int64(len(cmds)))
		return next(ctx, cmds)
	}
}
