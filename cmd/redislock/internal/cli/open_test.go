package cli

import (
	"net/url"
	"os"
	"path/filepath"
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
	conn, err := (&Redis{URL: text, Prefix: "lock:"}).Open(withSession(t.Context()))
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

func TestOpenSingle(t *testing.T) {
	t.Parallel()
	addr := redistest.Shared(t, redistest.Redis).Addr()
	conn := open(t, "redis://"+addr+"/3")
	if want := addr + ", database 3"; conn.Name != want {
		t.Errorf("the name is %q, want %q", conn.Name, want)
	}
	if info := check.Must[*redis.ClientInfo](t)(conn.RDB.(*redis.Client).ClientInfo(t.Context()).Result()); info.DB != 3 {
		t.Errorf("database %d, want 3", info.DB)
	}
	wantUsable(t, conn)
}

func TestOpenSocket(t *testing.T) {
	t.Parallel()
	dir := check.Must[string](t)(os.MkdirTemp("", "")) //nolint:usetesting // the name of a socket has 108 bytes at most
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket := filepath.Join(dir, "s")
	redistest.Start(t, redistest.Redis, "--unixsocket", socket, "--requirepass", "hush")
	wantUsable(t, open(t, "unix://:hush@"+socket+"?db=2"))
}

// A password has whatever characters it likes, if they are percent-encoded.
func TestOpenUser(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Redis)
	const password = "p/a?s#s@:%"
	check.NoError(t, server.Client(t).Do(t.Context(), "acl", "setuser", "app", "on", ">"+password, "~*", "&*", "+@all").Err())
	conn := open(t, "redis://"+url.UserPassword("app", password).String()+"@"+server.Addr())
	if who := conn.RDB.Do(t.Context(), "acl", "whoami").Val(); who != "app" {
		t.Errorf("the user is %v", who)
	}
}

func TestOpenCluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, redistest.Redis, 3, 0)
	addrs := cluster.Addrs()
	for name, text := range map[string]string{
		"named":          "redis://" + addrs[0] + "?addr=" + addrs[1],
		"recognised":     "redis://" + addrs[1],
		"without RESP3":  "redis://" + addrs[2] + "?protocol=2",
		"a node is down": "redis://" + addrs[0] + "?addr=127.0.0.1:1",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := open(t, text)
			if _, ok := conn.RDB.(*redis.ClusterClient); !ok {
				t.Fatalf("the client is a %T", conn.RDB)
			}
			if !strings.HasPrefix(conn.Name, "the Cluster ") {
				t.Errorf("the name is %q", conn.Name)
			}
			wantUsable(t, conn)
		})
	}
	t.Run("without the right", func(t *testing.T) {
		t.Parallel()
		rdb := redis.NewClient(&redis.Options{Addr: addrs[0]})
		defer rdb.Close()
		check.NoError(t, rdb.Do(t.Context(), "acl", "setuser", "node", "on", ">hush", "~*", "&*", "+@all", "-cluster|slots", "-cluster|shards").Err())
		conn := open(t, "redis://node:hush@"+addrs[0])
		if _, ok := conn.RDB.(*redis.Client); !ok || !conn.isNode {
			t.Errorf("the client is a %T, a node: %t", conn.RDB, conn.isNode)
		}
	})
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
