package memory_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/proof/levels/memory"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// one takes a key, or says that it is taken; many replies with one element for each argument.
var (
	one   = redis.NewScript(`return redis.call('set', KEYS[1], ARGV[1], 'nx') and 1 or {0, 'taken', ARGV[1]}`)
	many  = redis.NewScript(`local all = {} for i = 1, #ARGV do all[i] = 1 end return all`)
	mixed = redis.NewScript(`local all = {} for i = 1, #ARGV do all[i] = ARGV[i] == 'no' and 0 or 1 end return all`)
	odd   = redis.NewScript(`local all = {} for i = 1, #ARGV do all[i] = i end return all`)
)

// start starts a server, a client that reaches it, and one that asks the server in memory.
func start(t *testing.T) (direct, rdb *redis.Client, server *memory.Server) {
	t.Helper()
	behind := redistest.Start(t, redistest.Redis)
	server = memory.New(behind.Addr())
	rdb = redis.NewClient(&redis.Options{Addr: behind.Addr(), Dialer: server.Dial, MaxRetries: -1})
	t.Cleanup(func() { _ = rdb.Close() })
	return behind.Client(t), rdb, server
}

// What was heard is answered again without the server; what was not heard is an error.
func TestAnswers(t *testing.T) {
	t.Parallel()
	direct, rdb, server := start(t)
	ctx := t.Context()
	take := func(key string) (any, error) { return one.EvalSha(ctx, rdb, []string{key}, "value").Result() }
	if err := one.Load(ctx, direct).Err(); err != nil {
		t.Fatal(err)
	}
	if got, err := take("before"); err == nil || !strings.Contains(err.Error(), "not heard before: evalsha"+one.Hash()+" with 1 keys and 1 arguments") {
		t.Errorf("got %v, %v, want an error that names what was asked", got, err)
	}
	if err := server.Hear(func() error { return one.EvalSha(ctx, rdb, []string{"heard"}, "value").Err() }); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got, err := take("again"); err != nil || got != int64(1) {
			t.Errorf("got %v, %v, want the answer of before", got, err)
		}
	}
	if got := direct.Exists(ctx, "heard", "again", "before").Val(); got != 1 {
		t.Errorf("got %d keys in the server, want the one of when it was heard", got)
	}
	if got, err := one.EvalSha(ctx, rdb, []string{"heard"}, "value", "another").Result(); err == nil {
		t.Errorf("another number of arguments: got %v, want an error", got)
	}
}

// A reply of nested values is heard as it was sent, and the latest one counts.
func TestHearsAnyReply(t *testing.T) {
	t.Parallel()
	direct, rdb, server := start(t)
	ctx := t.Context()
	if err := one.Load(ctx, direct).Err(); err != nil {
		t.Fatal(err)
	}
	ask := func() (any, error) { return one.EvalSha(ctx, rdb, []string{"key"}, "line\r\n*3").Result() }
	err := server.Hear(func() error {
		_, _ = ask()
		_, err := ask()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := ask()
	if diff := cmp.Diff([]any{int64(0), "taken", "line\r\n*3"}, got); err != nil || diff != "" {
		t.Errorf("%v, reply (-want +got):\n%s", err, diff)
	}
}

// A script with one element for each caller is answered for any number of them, but not if it ever replied otherwise.
func TestAnyNumberOfCallers(t *testing.T) {
	t.Parallel()
	direct, rdb, server := start(t)
	ctx := t.Context()
	for script, heard := range map[*redis.Script][][]any{many: {{1, 2, 3}}, odd: {{1, 2, 3}}, mixed: {{1, 2, 3}, {1, "no"}}} {
		if err := script.Load(ctx, direct).Err(); err != nil {
			t.Fatal(err)
		}
		for _, args := range heard {
			if err := server.Hear(func() error { return script.EvalSha(ctx, rdb, []string{"key"}, args...).Err() }); err != nil {
				t.Fatal(err)
			}
		}
	}
	got, err := many.EvalSha(ctx, rdb, []string{"a", "b", "c", "d"}, 1, 2, 3, 4, 5).Int64Slice()
	if diff := cmp.Diff([]int64{1, 1, 1, 1, 1}, got); err != nil || diff != "" {
		t.Errorf("%v, reply (-want +got):\n%s", err, diff)
	}
	for name, script := range map[string]*redis.Script{"always": odd, "once": mixed} {
		if got, err := script.EvalSha(ctx, rdb, []string{"key"}, 1, 2, 3, 4).Result(); err == nil {
			t.Errorf("elements that differed %s: got %v, want an error", name, got)
		}
	}
}

// Pipelines are answered whole, however they are cut into pieces, and by many callers at once.
func TestPipelines(t *testing.T) {
	t.Parallel()
	_, rdb, server := start(t)
	ctx := t.Context()
	server.Yield(true)
	long := strings.Repeat("x", 100_000) // longer than the buffers of a client
	set := func(pipe redis.Cmdable, key string) *redis.StatusCmd { return pipe.Set(ctx, key, long, time.Minute) }
	if err := server.Hear(func() error { return set(rdb, "key").Err() }); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for who := range 8 {
		all.Go(func() {
			cmds, err := rdb.Pipelined(ctx, func(pipe redis.Pipeliner) error {
				for i := range 20 {
					set(pipe, fmt.Sprint("key:", who, ":", i))
				}
				return nil
			})
			if err != nil || len(cmds) != 20 {
				t.Errorf("got %d answers, %v", len(cmds), err)
			}
		})
	}
	all.Wait()
}

// A Close ends a read that waits.
func TestClose(t *testing.T) {
	t.Parallel()
	server := memory.New(redistest.Start(t, redistest.Redis).Addr())
	c, err := server.Dial(context.Background(), "tcp", "")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := c.Read(make([]byte, 1))
		ended <- err
	}()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil {
		t.Error("got no error of a read from a closed connection")
	}
	if _, err := c.Write([]byte("*1\r\n$4\r\nPING\r\n")); err == nil {
		t.Error("got no error of a write to a closed connection")
	}
}
