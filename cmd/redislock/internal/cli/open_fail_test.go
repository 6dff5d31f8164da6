package cli

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// wantFailure fails the test unless a URL cannot be opened, for this reason. No error shows the password "hush".
func wantFailure(t *testing.T, text string, status int, reason string) {
	t.Helper()
	wantFailureOf(t, &Redis{URL: text}, status, reason)
}

func wantFailureOf(t *testing.T, r *Redis, status int, reason string) {
	t.Helper()
	text := r.URL
	conn, err := r.Open(withSession(t.Context()))
	if err == nil {
		_ = conn.Close()
		t.Errorf("%s: no error", text)
		return
	}
	if got := statusOf(err); got != status || !strings.Contains(err.Error(), reason) {
		t.Errorf("%s: status %d, want %d, and %q in:\n%v", text, got, status, reason, err)
	}
	if strings.Contains(err.Error(), "hush") {
		t.Errorf("%s: the password is in: %v", text, err)
	}
}

func TestOpenBadURL(t *testing.T) {
	t.Parallel()
	for text, reason := range map[string]string{
		"http://localhost":                            "invalid URL scheme: http",
		"redis://:hush@127.0.0.1:x":                   "this one cannot be parsed",
		"redis://:hush@%zz":                           "this one cannot be parsed",
		"redis://127.0.0.1/one":                       `invalid database number: "one"`,
		"redis://127.0.0.1?pool=3":                    "unexpected option: pool",
		"redis://me:1/hush@127.0.0.1":                 "a password that is cut off: write %2F for / in it",
		"redis://me:1#hush@127.0.0.1":                 "a password that is cut off",
		"redis://me:1?hush@127.0.0.1":                 "a password that is cut off",
		"unix://me:1/hush@/tmp/s":                     "a password that is cut off",
		"unix://me:1?hush@/tmp/s":                     "a password that is cut off",
		"redis://me:hush#1@127.0.0.1":                 "cannot be parsed",
		"redis://127.0.0.1/1?addr=127.0.0.1:2":        "a Cluster has no database but 0",
		"redis://127.0.0.1?addr=127.0.0.1":            "unable to parse addr param: 127.0.0.1",
		"unix://":                                     "empty unix socket path",
		"unix:///tmp/s?master_name=main":              "invalid URL scheme: unix",
		"redis://127.0.0.1?cacert=ca.pem":             "cacert= is for TLS, that is rediss://",
		"redis://127.0.0.1?skip_verify=true":          "skip_verify=true or false is for TLS",
		"rediss://127.0.0.1?skip_verify=perhaps":      "skip_verify=true or false is for TLS",
		"rediss://127.0.0.1?cacert=":                  "cacert= has no name of a file",
		"rediss://127.0.0.1?cacert=/no/such":          "cacert=: open /no/such: ",
		"rediss://127.0.0.1?key=/no/such":             "key= is without cert=",
		"rediss://127.0.0.1?cert=/no/such":            "cert= without key=, so that /no/such has to have both",
		"rediss://127.0.0.1?cert=/no/such&key=/no/me": "cert= and key=: open /no/such",
	} {
		wantFailure(t, text, Usage, reason)
	}
}

// A listener that says nothing is given up, whatever time-outs the URL has.
func TestOpenSilence(t *testing.T) {
	t.Parallel()
	listener := check.Must[net.Listener](t)(net.Listen("tcp", "127.0.0.1:0"))
	t.Cleanup(func() { listener.Close() })
	addr := listener.Addr().String()
	for _, text := range []string{
		"redis://" + addr, "redis://" + addr + "?read_timeout=1h", "rediss://" + addr + "?skip_verify=1&dial_timeout=4s",
		"redis://" + addr + "?addr=" + addr,
	} {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			wantFailureOf(t, &Redis{URL: text, within: 3 * time.Second}, Unavailable, "no answer within 3s")
		})
	}
}

// What takes the connection and says something else, or nothing, is no Redis.
func TestOpenStranger(t *testing.T) {
	t.Parallel()
	for said, reason := range map[string]string{
		"HTTP/1.1 400 Bad Request\r\n\r\n": "it does not speak the protocol of Redis",
		"":                                 "EOF",
	} {
		listener := check.Must[net.Listener](t)(net.Listen("tcp", "127.0.0.1:0"))
		t.Cleanup(func() { listener.Close() })
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				_, _ = conn.Read(make([]byte, 4096)) // all of it: else the connection is reset
				_, _ = conn.Write([]byte(said))
				_ = conn.Close()
			}
		}()
		wantFailure(t, "redis://"+listener.Addr().String(), Unavailable, reason)
	}
}

func TestOpenRefused(t *testing.T) {
	t.Parallel()
	locked := redistest.Start(t, redistest.Redis, "--requirepass", "hush").Addr()
	open := redistest.Shared(t, redistest.Redis).Addr()
	wantFailure(t, "redis://127.0.0.1:1", Unavailable, "cannot use 127.0.0.1:1, database 0: dial tcp 127.0.0.1:1: ")
	wantFailure(t, "redis://nowhere.invalid", Unavailable, "cannot use nowhere.invalid:6379, database 0: dial tcp: lookup nowhere.invalid")
	wantFailure(t, "unix:///no/such/socket", Unavailable, "cannot use /no/such/socket, database 0: dial unix ")
	wantFailure(t, "redis://"+locked, Refused, "the server wants a password: NOAUTH")
	wantFailure(t, "redis://:hushhush@"+locked, Refused, "the server does not take this user with this password: WRONGPASS")
	wantFailure(t, "redis://me:hush@"+locked, Refused, "the server does not take this user with this password: WRONGPASS")
	wantFailure(t, "redis://me:hush@"+open, Refused, "the server does not take this user with this password: WRONGPASS")
	wantFailure(t, "redis://"+open+"/99", Unavailable, "the server does not have this database: ERR DB index is out of range")
	wantFailure(t, "redis://"+open+"?addr="+open, Unavailable, "the server is no Cluster")
}

// A user needs no right to PING, and none to ask what the server is.
func TestOpenWithFewRights(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Redis)
	check.NoError(t, server.Client(t).Do(t.Context(), "acl", "setuser", "app", "on", ">hush", "~lock:*", "-@all", "+get").Err())
	conn := open(t, "redis://app:hush@"+server.Addr())
	if err := conn.RDB.Get(t.Context(), "lock:a").Err(); err != redis.Nil { //nolint:errorlint // it is Nil itself
		t.Errorf("get: %v", err)
	}
}
