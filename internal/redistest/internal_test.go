//go:build proof

package redistest

import (
	"bufio"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
)

func TestReadFrame(t *testing.T) {
	t.Parallel()
	frames := []string{
		"+OK\r\n", "-ERR no\r\n", ":1\r\n", "$-1\r\n", "$0\r\n\r\n", "$4\r\n\r\n*1\r\n", "*-1\r\n", "*0\r\n",
		"*2\r\n*1\r\n:1\r\n$1\r\na\r\n", "_\r\n", "#t\r\n", ",1.5\r\n", "(123\r\n", "=5\r\ntxt:a\r\n", "!3\r\nERR\r\n",
		"%1\r\n+k\r\n*1\r\n:2\r\n", "~1\r\n:1\r\n", ">2\r\n+message\r\n+m\r\n", "|1\r\n+ttl\r\n:9\r\n:5\r\n", "PING a\r\n",
	}
	r := bufio.NewReaderSize(strings.NewReader(strings.Join(frames, "")), 16)
	for _, want := range frames {
		if got, err := readFrame(r); string(got) != want || err != nil {
			t.Fatalf("got %q, %v; want %q", got, err, want)
		}
	}
	if _, err := readFrame(r); !errors.Is(err, io.EOF) {
		t.Errorf("got %v, want EOF", err)
	}
	for _, bad := range []string{"$x\r\n", "$-2\r\n", "*99999999999\r\n", "$5\r\nab\r\n", "*1\r\n", "+OK"} {
		if got, err := readFrame(bufio.NewReader(strings.NewReader(bad))); err == nil {
			t.Errorf("%q: got %q, want an error", bad, got)
		}
	}
}

func TestDecodeCommand(t *testing.T) {
	t.Parallel()
	for frame, want := range map[string][]string{
		"*2\r\n$3\r\nGET\r\n$4\r\n\r\n$1\r\n": {"GET", "\r\n$1"},
		"*1\r\n$0\r\n\r\n":                    {""},
		"PING  a\r\n":                         {"PING", "a"},
		"\r\n":                                nil,
		"*0\r\n":                              nil,
		"*1\r\n$9\r\nGET\r\n":                 nil,
	} {
		if got := decodeCommand([]byte(frame)); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", frame, got, want)
		}
	}
}

func TestParseView(t *testing.T) {
	t.Parallel()
	view, err := parseView("" +
		"aa 127.0.0.1:7001@17001,host myself,master - 0 0 3 connected 0-5460 9000 [93-<-bb]\n" +
		"bb 127.0.0.1:7002@17002 slave,fail? aa 0 0 3 disconnected\n")
	if err != nil {
		t.Fatal(err)
	}
	self, ok := view.self()
	if !ok || self.port != 7001 || self.epoch != 3 || !self.linked || !self.owns(5460) || !self.owns(9000) || self.owns(93000) || self.owns(5461) {
		t.Errorf("got self %+v", self)
	}
	if r := view[1]; !r.is("fail?") || r.is("fail") || r.linked || view.portOf(r.master) != 7001 {
		t.Errorf("got replica %+v", r)
	}
	if err := view.complete(1, 1); err != nil {
		t.Error(err)
	}
	if view.complete(1, 2) == nil || view.complete(2, 1) == nil {
		t.Error("an incomplete view passes")
	}
	if _, err := parseView("aa nonsense\n"); err == nil {
		t.Error("no error for nonsense")
	}
}

func TestNewestOwner(t *testing.T) {
	t.Parallel()
	old := clusterView{{port: 1, epoch: 3, slots: [][2]int{{0, 9}}}}
	now := clusterView{{port: 1, epoch: 3}, {port: 2, epoch: 7, slots: [][2]int{{0, 9}}}}
	for _, views := range [][]clusterView{{old, now, nil}, {now, nil, old}} {
		if got := newestOwner(views, 9); got != 2 {
			t.Errorf("got port %d, want 2: the former master is not believed", got)
		}
		if got := newestOwner(views, 10); got != 0 {
			t.Errorf("slot of nobody: got port %d", got)
		}
	}
}

// A server that loses the race for its port says so, whoever has it.
func TestStartOnTakenPort(t *testing.T) {
	t.Parallel()
	Need(t, Redis.program())
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for who, port := range map[string]int{
		"listener":     l.Addr().(*net.TCPAddr).Port,
		"other server": Start(t, Redis).Port(),
	} {
		s := Start(t, Redis)
		s.Kill()
		s.mu.Lock()
		own := s.port
		s.port = port
		err := s.startLocked()
		s.port = own
		s.mu.Unlock()
		if !errors.Is(err, errPortTaken) {
			t.Errorf("%s on the port: got %v, want errPortTaken", who, err)
		}
	}
}

func TestTakePort(t *testing.T) {
	t.Parallel()
	seen := map[int]bool{}
	for range 50 {
		port, err := takePort()
		if err != nil {
			t.Fatal(err)
		}
		defer freePort(port)
		if port < firstPort || port > lastPort || seen[port] || seen[port+busOffset] {
			t.Errorf("got port %d", port)
		}
		seen[port], seen[port+busOffset] = true, true
		for _, number := range []int{port, port + busOffset} {
			if conn, err := net.ListenPacket("udp", loopback(number)); err == nil {
				_ = conn.Close()
				t.Errorf("port %d is not kept from other test binaries", number)
			}
		}
	}
}

func TestQueueOrder(t *testing.T) {
	t.Parallel()
	q := newQueue[int]()
	go func() {
		defer q.close()
		for i := range 1000 {
			q.put(i)
		}
	}()
	for i := range 1000 {
		if got, ok := q.next(nil); got != i || !ok {
			t.Fatalf("got %d, %t; want %d", got, ok, i)
		}
	}
	if _, ok := q.next(nil); ok {
		t.Error("got an item from a closed queue")
	}
	done := make(chan struct{})
	close(done)
	q.put(1)
	if _, ok := q.next(done); ok {
		t.Error("got an item although done")
	}
}
