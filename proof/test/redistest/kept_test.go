package redistest_test

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/internal/redistest"
)

func TestRelayKeeps(t *testing.T) {
	eachRelayed(t, func(t *testing.T, r relayed) {
		kept := r.Keep(func(name string, args []string) bool { return name == "INCR" && args[0] == r.key })
		if err := r.incr(t); err == nil {
			t.Fatal("got an answer to a command that is kept")
		}
		if n := r.direct.Exists(t.Context(), r.key).Val(); n != 0 {
			t.Error("the command was executed before it was delivered")
		}
		if err := r.incr(t); err != nil { // over another connection: one command is kept for each call
			t.Fatal(err)
		}
		if reply := string(kept.Deliver()); reply != ":2\r\n" {
			t.Errorf("got reply %q of the kept command, want 2", reply)
		}
		if n := r.direct.Get(t.Context(), r.key).Val(); n != "2" {
			t.Errorf("got %q after it was delivered, want 2", n)
		}
	})
	t.Run("what was written behind it is not kept, nor sent on", func(t *testing.T) {
		b := redistest.Shared(t, redistest.Redis)
		if err := b.Client(t).Del(t.Context(), "behind").Err(); err != nil {
			t.Fatal(err)
		}
		relay := redistest.NewRelay(t, b.Addr())
		isIncr := func(name string, _ []string) bool { return name == "INCR" }
		first := relay.Keep(isIncr)
		relay.Keep(isIncr)
		conn, err := net.Dial("tcp", relay.Addr())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, strings.Repeat("*2\r\n$4\r\nINCR\r\n$6\r\nbehind\r\n", 2)); err != nil {
			t.Fatal(err)
		}
		if n, err := conn.Read(make([]byte, 1)); err == nil {
			t.Fatalf("got %d bytes, want the end of the connection", n)
		}
		reply := make(chan string, 1)
		go func() { reply <- string(first.Deliver()) }()
		select {
		case got := <-reply:
			if got != ":1\r\n" {
				t.Errorf("got reply %q, want 1", got)
			}
		case <-time.After(20 * time.Second):
			relay.Cut()
			t.Fatal("no reply to what was delivered")
		}
		if n := b.Client(t).Get(t.Context(), "behind").Val(); n != "1" {
			t.Errorf("got %q after one of two was delivered, want 1", n)
		}
	})
	t.Run("what is still kept at the end is dropped", func(t *testing.T) {
		b := redistest.Shared(t, redistest.Redis)
		var kept *redistest.Kept
		t.Run("inner", func(t *testing.T) {
			relay := redistest.NewRelay(t, b.Addr())
			kept = relay.Keep(func(name string, _ []string) bool { return name == "INCR" })
			if err := relay.Client(t, once).Incr(t.Context(), t.Name()).Err(); err == nil {
				t.Error("got an answer, want ", io.EOF)
			}
		})
		if reply := kept.Deliver(); reply != nil {
			t.Errorf("got reply %q over a connection that was cut", reply)
		}
	})
}
