package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// longTTL is longer than any test.
const longTTL = time.Hour

// open opens a URL, and fails the test if that is not possible.
func open(t *testing.T, text string) *Conn {
	t.Helper()
	conn, err := (&Redis{URL: text, Prefix: "lock:"}).Open(withLast(t.Context()))
	check.NoError(t, err)
	t.Cleanup(func() { check.NoError(t, conn.Close()) })
	return conn
}

// wantUsable fails the test unless keys can be locked and seen through a connection. They are in as many slots.
func wantUsable(t *testing.T, conn *Conn) {
	t.Helper()
	client := conn.Client()
	defer client.Close()
	for _, key := range []string{"a", "b", "c", "d"} {
		lock, err := client.Obtain(t.Context(), []string{t.Name() + key}, longTTL, nil)
		check.NoError(t, err)
		if n := conn.RDB.Exists(t.Context(), "lock:"+t.Name()+key).Val(); n != 1 {
			t.Errorf("%s: the key is not on the server", key)
		}
		check.NoError(t, lock.Release(t.Context()))
	}
}

// wantFailure fails the test unless a URL cannot be opened, for this reason.
func wantFailure(t *testing.T, text string, status int, reason string) {
	t.Helper()
	conn, err := (&Redis{URL: text}).Open(withLast(t.Context()))
	if err == nil {
		_ = conn.Close()
		t.Errorf("%s: no error", text)
		return
	}
	if got := statusOf(err); got != status || !strings.Contains(err.Error(), reason) {
		t.Errorf("%s: status %d, want %d, and %q in:\n%v", text, got, status, reason, err)
	}
}

func TestOpenSentinel(t *testing.T) {
	t.Parallel()
	s := redistest.StartSentinels(t, redistest.Redis, 1, 1)
	addr := s.Sentinels()[0].Addr()
	conn := open(t, "redis://"+addr+"/2?master_name=main")
	wantUsable(t, conn)
	if got, want := conn.RDB.(*redis.Client).Options().DB, 2; got != want {
		t.Errorf("database %d, want %d", got, want)
	}
	wantFailure(t, "redis://"+addr, Usage, addr+" is a Sentinel: add ?master_name=NAME")
	wantFailure(t, "redis://"+addr+"?master_name=nobody", Unavailable, "no primary is known there under this name")
}
