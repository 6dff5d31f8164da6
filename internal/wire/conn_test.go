package wire

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
)

// clients are Redis clients of each kind, which nobody answers. Those of the Cluster ask a function for its nodes.
func clients(t *testing.T, nodes func() error) (rdb *redis.Client, cluster *redis.ClusterClient, ring *redis.Ring) {
	t.Helper()
	rdb = redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	ring = redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"one": "127.0.0.1:1"}})
	cluster = redis.NewClusterClient(&redis.ClusterOptions{
		ClusterSlots: func(context.Context) ([]redis.ClusterSlot, error) {
			return []redis.ClusterSlot{{Start: 0, End: 16383, Nodes: []redis.ClusterNode{{Addr: "127.0.0.1:1"}}}}, nodes()
		},
	})
	t.Cleanup(func() { _, _, _ = rdb.Close(), ring.Close(), cluster.Close() })
	return rdb, cluster, ring
}

func noNodes() error { return errors.New("no nodes") }

// A call takes the lane to its server. Those that share no script behind a wrapped client have one where none waits for
// another, and those with replicas have one for themselves.
func TestLaneOfCall(t *testing.T) {
	t.Parallel()
	rdb, cluster, ring := clients(t, func() error { return nil })
	plain, single := &Call{Wish: Wish{Plain: true, Run: &said{key: "{a}"}}}, &Call{Wish: Wish{Run: &said{key: "{a}"}}}
	untagged := &Call{Wish: Wish{Plain: true, Run: &said{key: "a"}}}
	replicas := &Call{Wish: Wish{Run: &said{key: "{a}"}, Replicas: Replicas{Wanted: 1, Within: time.Second}}}
	others := &Call{Wish: Wish{Run: &said{key: "{a}"}, Replicas: Replicas{Wanted: 2, Within: time.Second}}}
	type wrapped struct{ redis.Scripter }
	for name, c := range map[string]struct {
		rdb                          redis.Scripter
		wraps                        GoRedis
		plain, single, untagged, hot string // the name of the lane; hot: if the Redis client has answered before
	}{
		"client":          {rdb, nil, "main", "main", "main", "main"},
		"ring":            {ring, nil, "own", "own", "own", "own"},
		"cluster":         {cluster, nil, "main", "main", "main", "own"},
		"wrapped":         {wrapped{rdb}, nil, "main", "alone", "main", "main"},
		"wrapped client":  {wrapped{rdb}, rdb, "main", "alone", "main", "main"},
		"wrapped ring":    {wrapped{ring}, ring, "own", "alone", "alone", "own"},
		"wrapped cluster": {wrapped{cluster}, cluster, "main", "alone", "alone", "own"},
	} {
		conn := New(c.rdb, Options{Wraps: c.wraps, Bundle: newBundle()})
		lane := func(c *Call) string {
			switch l := conn.lane(c); l {
			case conn.main:
				return "main"
			case conn.alone:
				return "alone"
			case conn.lane(c):
				return "own"
			default:
				return "another each time"
			}
		}
		if got := [...]string{lane(plain), lane(single), lane(untagged)}; got != [...]string{c.plain, c.single, c.untagged} {
			t.Errorf("%s: got lanes %q, want %q, %q and %q", name, got, c.plain, c.single, c.untagged)
		}
		if conn.warm.Store(true); lane(plain) != c.hot {
			t.Errorf("%s: got lane %s once it has answered, want %s", name, lane(plain), c.hot)
		}
		if conn.wrapped {
			continue // replicas are asked for past it
		}
		one, two := conn.lane(replicas), conn.lane(others)
		if one == two || one == conn.lane(single) || lane(replicas) != "own" || one.overdue != overdue+time.Second {
			t.Errorf("%s: calls with replicas share a lane, or wait for as long as usual: %s", name, one.overdue)
		}
		if s, ok := one.sender.(replicated); !ok || s.replicas != replicas.Replicas {
			t.Errorf("%s: got a %T, want one that asks for replicas", name, one.sender)
		}
	}
}

// Where to subscribe depends on what the Redis client is. That of a Cluster is not asked before it has answered.
func TestSource(t *testing.T) {
	t.Parallel()
	asked := 0
	rdb, cluster, ring := clients(t, func() error { asked++; return nil })
	for name, c := range map[string]struct {
		rdb             redis.Scripter
		wraps           GoRedis
		none            bool
		cold            error
		tagged, sharded bool
	}{
		"client":         {rdb: rdb},
		"ring":           {rdb: ring, tagged: true},
		"cluster":        {rdb: cluster, tagged: true, sharded: true, cold: errCold},
		"wrapped":        {rdb: struct{ redis.Scripter }{rdb}, none: true},
		"wrapped client": {rdb: struct{ redis.Scripter }{rdb}, wraps: rdb},
	} {
		conn := New(c.rdb, Options{Wraps: c.wraps})
		s := conn.Source()
		if s.Tagged != c.tagged || s.Sharded != c.sharded || (s.Of == nil) != c.none {
			t.Errorf("%s: got %+v", name, s)
		}
		if c.none {
			continue
		}
		if _, err := s.Of("k"); !errors.Is(err, c.cold) || asked > 0 {
			t.Errorf("%s: got error %v, want %v, asked %d times for the nodes", name, err, c.cold, asked)
		}
		conn.warm.Store(true)
		if of, err := s.Of("k"); err != nil || of == nil {
			t.Errorf("%s: got error %v once it has answered", name, err)
		}
		asked = 0
	}
}

// A Cluster client looks for its nodes again if a call has failed, unless it would fail anywhere.
func TestFailedCallReloadsCluster(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		looked := 0
		_, cluster, _ := clients(t, func() error { looked++; return noNodes() })
		conn := New(cluster, Options{})
		for err, want := range map[error]int{redis.ErrClosed: 0, refused("NOPERM no"): 0, io.EOF: 1, loading: 1} {
			looked = 0
			call := &Call{Wish: Wish{Context: t.Context(), Run: &said{key: "k"}}, Result: Result{Err: err}, conn: conn}
			call.resend()
			if synctest.Wait(); looked != want {
				t.Errorf("%v: it looks %d times, want %d", err, looked, want)
			}
		}
	})
}

// A Conn that drains waits for the calls that are under way, and for those who have entered.
func TestDrain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, conn, call := newTrier(t, slow{{time.Second, nil}})
		call.Then = func(*Call) {}
		conn.Enter()
		conn.Start(call)
		conn.Hasten()
		time.AfterFunc(2*time.Second, conn.Exit)
		conn.Drain()
		if took := time.Since(s.began); took != 2*time.Second || conn.under.Load() != 0 {
			t.Errorf("it has drained after %s with %d under way", took, conn.under.Load())
		}
		call.Reset()
		call.Wish = Wish{Context: t.Context(), Run: &said{key: "k"}}
		call.Then = func(*Call) {}
		s.last = func(*Call) error { time.Sleep(time.Second); return nil }
		conn.Start(call)
		conn.Hasten()
		conn.Drain()
		if took := time.Since(s.began); took != 3*time.Second {
			t.Errorf("it has drained again after %s", took)
		}
	})
}

// What a Redis client is known by can be compared, whatever its type.
func TestIdentity(t *testing.T) {
	t.Parallel()
	rdb, _, _ := clients(t, noNodes)
	one, another := New(rdb, Options{}), New(rdb, Options{})
	if one.Identity() != any(rdb) || another.Identity() != one.Identity() {
		t.Error("two of one client differ")
	}
	type sliced struct {
		redis.Scripter
		_ []int
	}
	one, another = New(sliced{Scripter: rdb}, Options{}), New(sliced{Scripter: rdb}, Options{})
	if known := map[any]bool{one.Identity(): true}; !known[one.Identity()] || known[another.Identity()] {
		t.Error("two of clients that cannot be compared are the same")
	}
}
