package wire

import (
	"context"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/clock"
)

// A client that embeds a nil client, and has its own Eval, is asked for nothing else.
func TestPoolsOfNil(t *testing.T) {
	t.Parallel()
	type fake struct{ redis.UniversalClient }
	if known := pools(fake{}, nil); known != nil {
		t.Error("it counts as one that says what its pool does")
	}
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	t.Cleanup(func() { _ = rdb.Close() })
	if known := pools(fake{rdb}, nil); known == nil {
		t.Error("it says what its pool does")
	}
}

// An evaler is a client of an unknown type.
type evaler struct {
	redis.Scripter
	mu      sync.Mutex
	sources []bool
	keys    [][]string
	args    [][]any
	answer  func(ctx context.Context) *redis.Cmd
}

func (e *evaler) called(ctx context.Context, source bool, keys []string, args []any) *redis.Cmd {
	e.mu.Lock()
	e.sources, e.keys, e.args = append(e.sources, source), append(e.keys, keys), append(e.args, args)
	e.mu.Unlock()
	return e.answer(ctx)
}

func (e *evaler) Eval(ctx context.Context, _ string, keys []string, args ...any) *redis.Cmd {
	return e.called(ctx, true, keys, args)
}

func (e *evaler) EvalSha(ctx context.Context, _ string, keys []string, args ...any) *redis.Cmd {
	return e.called(ctx, false, keys, args)
}

func cmdOf(val any, err error) *redis.Cmd {
	cmd := redis.NewCmd(context.Background())
	cmd.SetVal(val)
	cmd.SetErr(err)
	return cmd
}

// newPlain makes commands for such a client.
func newPlain(ctx context.Context, calls int) (commands []command) {
	for i := range calls {
		commands = append(commands, newSingle(&Call{Wish: Wish{Context: ctx, Run: &said{key: strconv.Itoa(i), value: "v", ttl: 7}}}))
	}
	return commands
}

// A client of an unknown type is asked for each command once, with its keys and arguments.
func TestPlainSendsEach(t *testing.T) {
	t.Parallel()
	for calls := range 4 {
		e := &evaler{answer: func(context.Context) *redis.Cmd { return cmdOf(done, nil) }}
		commands := newPlain(t.Context(), calls)
		plainClient{rdb: e}.send(commands, func(p command) bool { return p == commands[0] })
		if len(e.sources) != calls || calls > 0 && !slices.Contains(e.sources, true) {
			t.Errorf("%d calls: it was called %d times, with sources %t", calls, len(e.sources), e.sources)
		}
		slices.SortFunc(e.keys, slices.Compare)
		for i, p := range commands {
			if p.cmd().Val() != any(done) || p.Err() != nil {
				t.Errorf("call %d: got %v and error %v", i, p.cmd().Val(), p.Err())
			}
			if !slices.Equal(e.keys[i], []string{strconv.Itoa(i)}) || !slices.Equal(e.args[i], []any{"v", int64(7)}) {
				t.Errorf("call %d: got keys %q and arguments %v", i, e.keys[i], e.args[i])
			}
		}
	}
}

// What a run passes by a pointer is passed on as what it points to.
func TestOperands(t *testing.T) {
	t.Parallel()
	key, text, number := "key", "text", int64(3)
	keys, args := operands([]any{"eval", "source", 2, &key, "k", &text, &number, number, "t"})
	if !slices.Equal(keys, []string{"key", "k"}) || !slices.Equal(args, []any{"text", int64(3), int64(3), "t"}) {
		t.Errorf("got keys %q and arguments %v", keys, args)
	}
}

// A pool says how many connections it has given up.
type pool uint32

func (p *pool) PoolStats() *redis.PoolStats { return &redis.PoolStats{StaleConns: uint32(*p)} }

// A client of an unknown type may have sent a request twice, if its pool has given up a connection, or, if it does not
// show that, if it has taken long. If it fails the request may have been executed.
func TestPlainDoubts(t *testing.T) {
	t.Parallel()
	noscript := refused("NOSCRIPT No matching script. Please use EVAL.")
	for name, c := range map[string]struct {
		pool              bool // it shows what its pool does
		lost              bool
		takes             time.Duration
		err               error
		gone              bool // the caller goes, and the context of the try ends
		twice, unanswered bool
	}{
		"quick":                   {},
		"quick, of a pool":        {pool: true},
		"long":                    {takes: resendPause, twice: true},
		"long, of a pool":         {pool: true, takes: time.Minute},
		"lost":                    {pool: true, lost: true, twice: true},
		"failed":                  {err: io.EOF, unanswered: true},
		"failed when gone":        {err: context.Canceled, gone: true, unanswered: true, twice: true},
		"gone, but done":          {gone: true},
		"script unknown":          {err: noscript},
		"script unknown, gone":    {err: noscript, gone: true},
		"failed in another way":   {pool: true, err: loading, unanswered: true},
		"failed and lost":         {pool: true, lost: true, err: loading, unanswered: true, twice: true},
		"script unknown and lost": {pool: true, lost: true, err: noscript, twice: true},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := pool(3)
			commands := newPlain(t.Context(), 1)
			call := commands[0].calls()[0]
			call.Bounded = true
			e := &evaler{answer: func(context.Context) *redis.Cmd {
				if time.Sleep(c.takes); c.lost {
					p++
				}
				if c.gone {
					call.Abandon(nil)
				}
				return cmdOf(nil, c.err)
			}}
			d := plainClient{rdb: e}
			if c.pool {
				d.pools = &p
			}
			for try := range 2 {
				d.send(commands, byName)
				if call.twice != c.twice || call.IsUnanswered() != c.unanswered || !errors.Is(commands[0].Err(), c.err) {
					t.Errorf("%s, try %d: got twice %t, unanswered %t, error %v", name, try, call.twice, call.IsUnanswered(), commands[0].Err())
				}
				if c.gone {
					break // the next try finds an ended context
				}
				call.Unanswered = clock.Moment{}
				c.lost, c.takes = false, 0 // what comes next does not undo what is known of the first request
			}
		})
	}
}

// A client that returns no command has failed, and it is said which.
func TestPlainReturnsNothing(t *testing.T) {
	t.Parallel()
	commands := newPlain(t.Context(), 1)
	plainClient{rdb: &evaler{answer: func(context.Context) *redis.Cmd { return nil }}}.send(commands, byName)
	if err := commands[0].Err(); err == nil || !strings.Contains(err.Error(), "*wire.evaler returned no command") {
		t.Errorf("got error %v", err)
	}
}
