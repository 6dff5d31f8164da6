package tree

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/slot"
)

// However many stand in a line, the server compares the tokens of some, and tells nobody's.
func TestMarksAreBounded(t *testing.T) {
	t.Parallel()
	backend := redistest.Shared(t, redistest.Redis)
	rdb, key := backend.Client(t), t.Name()
	waits := make([]redis.Z, 0, 3000)
	for i := range 3000 {
		entry := fmt.Sprintf("%022d|%d|wp--|30000|1|0|0|my token|metadata", i, time.Now().Add(time.Hour).UnixMilli())
		waits = append(waits, redis.Z{Score: float64(1 + i), Member: entry})
	}
	line := slot.Beside("line", key)
	check.NoError(t, rdb.ZAdd(t.Context(), line, append(waits, redis.Z{Member: "guard|1"})...).Err())
	check.NoError(t, rdb.Expire(t.Context(), line, time.Hour).Err())
	check.NoError(t, rdb.Set(t.Context(), key, "my token|metadata", time.Hour).Err())
	server := cli.Redis{URL: "redis://" + backend.Addr()}
	conn := check.Must[*cli.Conn](t)(server.Open(t.Context()))
	t.Cleanup(func() { _ = conn.Close() })
	k := newMarker(conn)
	check.NoError(t, k.read(t.Context(), []redislock.KeyState{{Key: key}}))
	m := k.latest[key]
	if len(m.line) != 1+999 { // the intent, and all but the guard
		t.Errorf("%d of a line have marks, want 999", len(m.line)-1)
	}
	if len(m.holders) != 1 || m.holders[0] == "" || m.holders[0] != m.line[17] || strings.Contains(m.holders[0], "token") {
		t.Errorf("the marks of one token are %q and %q", m.holders, m.line[17])
	}
}
