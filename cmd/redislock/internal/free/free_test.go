package free

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

func TestMain(m *testing.M) {
	cli.Reachable = time.Minute
	redistest.Main(m)
}

// The pauses grow from 20 ms to a second, and the end of a lease makes one shorter, but not without end.
func TestPacer(t *testing.T) {
	t.Parallel()
	var p pacer
	looks, passed := 0, time.Duration(0)
	for passed < time.Minute {
		pause := p.next(noTTL)
		if most := firstPause << min(looks, 10); pause > min(most, longestPause) || pause < min(most, longestPause)*4/5-1 {
			t.Fatalf("pause %d is %s", looks, pause)
		}
		passed += pause
		looks++
	}
	if looks > 81 {
		t.Errorf("it looks %d times in a minute", looks)
	}
	for ttl, want := range map[time.Duration]time.Duration{
		300 * time.Millisecond: 301 * time.Millisecond, 0: firstPause / 2, time.Millisecond: firstPause / 2,
	} {
		if got := p.next(ttl); got != want {
			t.Errorf("a lease ends in %s: it looks in %s, want %s", ttl, got, want)
		}
	}
	if got := p.next(time.Hour); got > longestPause || got < longestPause*4/5 {
		t.Errorf("a lease ends in an hour: it looks in %s", got)
	}
}

// A look costs one command, however many keys there are, as long as the key is held that was held before.
func TestLookCosts(t *testing.T) {
	t.Parallel()
	b := redistest.Shared(t, redistest.Redis)
	rdb, name := b.Client(t), world.NewName(t)
	c := redislock.New(rdb)
	t.Cleanup(c.Close)
	check.Must[*redislock.Lock](t)(c.Obtain(t.Context(), []string{name + "b", name + "c"}, time.Hour, nil))
	var mu sync.Mutex
	var commands []string
	take := func(cmd redis.Cmder) bool { // which is called before anything is sent
		mu.Lock()
		defer mu.Unlock()
		commands = append(commands, cmd.Name())
		return false
	}
	rdb.AddHook(check.Around{Instead: take})
	w := &waiting{conn: &cli.Conn{RDB: rdb}, client: c}
	w.parts = partsOf(w.conn, []string{name + "a", name + "b", name + "c"})
	first := check.Must[sight](t)(w.look(t.Context(), sight{}))
	if first.free || first.blocker != name+"b" {
		t.Fatalf("got %+v, want it held up by b", first)
	}
	mu.Lock()
	commands = nil
	mu.Unlock()
	next := check.Must[sight](t)(w.look(t.Context(), first))
	if !slices.Equal(commands, []string{"evalsha"}) || next.blocker != first.blocker || next.ttl <= 0 {
		t.Errorf("got %v, %+v", commands, next)
	}
}

// Nothing that is stored reaches a terminal as it is, and metadata is cut.
func TestDescribe(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for _, tt := range []struct {
		h    redislock.Holder
		want string
	}{
		{redislock.Holder{TTL: time.Minute}, "somebody, 1m00s left"},
		{redislock.Holder{Metadata: "m", Caller: "o", TTL: time.Minute, Left: true, Since: now}, "m caller=o, after its work, for another 1m00s"},
		{redislock.Holder{Caller: "o", TTL: time.Second, Since: now.Add(time.Hour)}, "caller=o, since " + now.Add(time.Hour).Format("15:04:05") + ", 1.0s left"},
		{redislock.Holder{Metadata: "m", TTL: time.Second, Since: now.Add(-time.Hour)}, "m, since " + now.Add(-time.Hour).Format("15:04:05") + " (1h00m), 1.0s left"},
		{redislock.Holder{Metadata: "a\nb\x1b[1m", TTL: time.Second}, `"a\nb\x1b[1m", 1.0s left`},
		{redislock.Holder{Metadata: strings.Repeat("é", 300), TTL: time.Second}, strings.Repeat("é", 100) + "…" + strings.Repeat("é", 99) + ", 1.0s left"},
	} {
		if got := describe(tt.h); got != tt.want {
			t.Errorf("got %s, want %s", got, tt.want)
		}
	}
}
