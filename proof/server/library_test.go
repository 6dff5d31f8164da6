package server

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/proto/decode"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/proof/random"
)

// A relay has each script that the library runs played as a step on both servers, and passes on what is published.
type relay struct {
	*scriptServer
	began time.Time // when the clock was at begin

	mu     sync.Mutex
	space  Space
	seen   met
	differ string // by what, at the first step where they do
}

// step is the run of a script that a command asks for; false if it asks for something else.
func (r *relay) step(ctx context.Context, cmd redis.Cmder) (e Step, ok bool) {
	run := check.RunIn(cmd)
	if run.Script == "" {
		return e, false
	}
	args := decode.Words(cmd.Args())[3+len(run.Keys):]
	e = Step{Script: run.Script, Keys: run.Keys, Args: args, Up: 1000, Heard: map[string]int{}}
	for _, channel := range r.rdb.PubSubChannels(ctx, "*").Val() {
		e.Heard["p"+channel] = 1
	}
	e.Micros = begin + time.Since(r.began).Microseconds()
	return e, true
}

// answer plays a command that runs a script, and answers it.
func (r *relay) answer(ctx context.Context, cmd redis.Cmder) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, ok := r.step(ctx, cmd)
	if !ok {
		return false
	}
	got, after, err := r.run(ctx, e)
	if err != nil {
		return check.Answer(cmd, err)
	}
	want, wanted := e.model(r.space)
	if diff := difference(e, r.space, want, wanted, got, after); diff != "" && r.differ == "" {
		r.differ = fmt.Sprintf("it begins with\n%s\n%s\n%s", r.space, e, diff)
	}
	r.space = after
	r.seen.note(e, got)
	for _, m := range got.Messages {
		r.rdb.Publish(ctx, m.Channel, m.Text)
	}
	if got.Err != nil {
		return check.Answer(cmd, got.Err)
	}
	return check.Answer(cmd, got.Reply)
}

// What the library itself asks for is done alike as well, by several callers at once: calls are as the courses have them.
func TestCallsOfTheLibrary(t *testing.T) {
	t.Parallel()
	r := &relay{scriptServer: newScriptServer(t, redistest.Redis), began: time.Now(), space: Space{}}
	rdb := redis.NewClient(r.rdb.Options())
	t.Cleanup(func() { _ = rdb.Close() })
	ctx := context.WithoutCancel(t.Context())
	rdb.AddHook(check.Around{Instead: func(cmd redis.Cmder) bool { return r.answer(ctx, cmd) }})
	client := redislock.New(rdb)
	var callers sync.WaitGroup
	for k := range uint64(6) {
		callers.Go(func() {
			c := caller{client, rand.New(rand.NewPCG(k, 9))}
			for range 25 {
				c.turn(ctx)
			}
		})
	}
	callers.Wait()
	client.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	if t.Log(r.seen.String()); r.differ != "" {
		t.Error(r.differ)
	}
	if len(r.seen.all) == 0 {
		t.Error("nothing was played")
	}
}

// A caller does by chance what callers do.
type caller struct {
	*redislock.Client
	*rand.Rand
}

// turn obtains a lock, and does something with it. Whether it gets the lock, and whether the lock lives for so long, is of no
// matter here.
func (c caller) turn(ctx context.Context) {
	var write, read []string
	for k := range 4 {
		switch c.IntN(5) {
		case 0, 1:
			write = append(write, strconv.Itoa(k))
		case 2:
			read = append(read, strconv.Itoa(k))
		}
	}
	if len(write)+len(read) == 0 {
		write = []string{"0"}
	}
	chance := func(percent int) bool { return random.Chance(c.Rand, percent) }
	opt := &redislock.Options{Metadata: "m", Fenced: chance(40), Queue: chance(60), Wait: 150 * time.Millisecond}
	obtain := c.ObtainSet
	if chance(25) {
		obtain = c.As([]string{"one", "two"}[c.IntN(2)]).ObtainSet
	}
	if !opt.Queue {
		opt.Intent, opt.RetryStrategy = chance(50), redislock.LinearBackoff(20*time.Millisecond)
	}
	ttl := []time.Duration{300 * time.Millisecond, time.Second, 20 * time.Second}[c.IntN(3)]
	if chance(8) {
		_, _ = c.Break(ctx, []string{"0", "1"}, "why")
	}
	_, _ = c.Inspect(ctx, []string{strconv.Itoa(c.IntN(4))})
	l, err := obtain(ctx, redislock.Set{Write: write, Read: read}, ttl, opt)
	if err != nil {
		return
	}
	for range c.IntN(4) {
		switch c.IntN(5) {
		case 0:
			_ = l.Refresh(ctx, ttl)
		case 1:
			_ = l.Downgrade(ctx)
		case 2:
			_ = l.Upgrade(ctx)
		case 3:
			_, _ = l.TTL(ctx)
		case 4:
			_ = l.ReleaseKeys(ctx, slices.Concat(write, read)[:1])
		}
	}
	if chance(20) {
		_ = l.Leave(ctx, 50*time.Millisecond)
		return
	}
	_ = l.Release(ctx)
}
