package free

import (
	"strings"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

func TestMain(m *testing.M) {
	cli.Reachable = time.Minute
	redistest.Main(m)
}

// The pauses grow from 20 ms to a second, and the end of a lease makes one shorter, but not without end.
func TestPacer(t *testing.T) {
	t.Parallel()
	var p pacer
	held := func(ttl time.Duration) []redislock.KeyState {
		return []redislock.KeyState{{Mode: redislock.ModeFree}, {Mode: redislock.ModeWrite, TTL: ttl}}
	}
	looks, passed := 0, time.Duration(0)
	for passed < time.Minute {
		pause := p.next(nil)
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
		if got := p.next(held(ttl)); got != want {
			t.Errorf("a lease ends in %s: it looks in %s, want %s", ttl, got, want)
		}
	}
	if got := p.next(held(time.Hour)); got > longestPause || got < longestPause*4/5 {
		t.Errorf("a lease ends in an hour: it looks in %s", got)
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
