package wire

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// A client that embeds one of go-redis has time-outs of that one, but may not keep to them.
func TestTimeoutsOfWrapped(t *testing.T) {
	t.Parallel()
	const read, write = 7 * time.Second, 3 * time.Second
	client := redis.NewClient(&redis.Options{ReadTimeout: read, WriteTimeout: write})
	defer client.Close()
	cluster := redis.NewClusterClient(&redis.ClusterOptions{ReadTimeout: read, WriteTimeout: write})
	defer cluster.Close()
	ring := redis.NewRing(&redis.RingOptions{ReadTimeout: read, WriteTimeout: write})
	defer ring.Close()
	for name, clients := range map[string][2]redis.Scripter{
		"client":  {client, struct{ *redis.Client }{client}},
		"cluster": {cluster, struct{ *redis.ClusterClient }{cluster}},
		"ring":    {ring, struct{ *redis.Ring }{ring}},
	} {
		for i, rdb := range clients {
			got := timeoutsOf(rdb)
			if want := (timeouts{read, write, i == 0}); got != want {
				t.Errorf("%s: got %v, want %v of a %T", name, got, want, rdb)
			}
		}
	}
}

// While a try lasts the context of the caller does not end it, and the error says what the context knows.
func TestTripKnowsWhatItsCallerKnows(t *testing.T) {
	t.Parallel()
	type key struct{}
	ctx, cancel := context.WithTimeout(context.WithValue(t.Context(), key{}, "known"), time.Hour)
	cancel()
	s := newSingle(&Call{Wish: Wish{Context: ctx, Bounded: true}})
	s.beginTry()
	try := s.call.Context
	if _, ends := try.Deadline(); ends || try.Err() != nil || try.Value(key{}) != "known" {
		t.Errorf("got error %v and value %v, want none of the caller's end and all of its values", try.Err(), try.Value(key{}))
	}
	s.call.Abandon(nil)
	select {
	case <-try.Done():
	default:
		t.Error("it goes on after its caller has left")
	}
	if s.endTry(); s.call.Context != ctx {
		t.Error("the context of the call is not that of its caller again")
	}
}

// A Ring fills in the time-outs that are not said as its shards do, and a client that embeds none has none.
func TestTimeoutsNotSaid(t *testing.T) {
	t.Parallel()
	const some = 7 * time.Second
	for _, c := range []struct{ read, write, wantRead, wantWrite time.Duration }{
		{0, 0, readTimeout, readTimeout},
		{some, 0, some, some},
		{0, some, readTimeout, some},
	} {
		ring := redis.NewRing(&redis.RingOptions{ReadTimeout: c.read, WriteTimeout: c.write})
		if got, want := timeoutsOf(ring), (timeouts{c.wantRead, c.wantWrite, true}); got != want {
			t.Errorf("read %s, write %s: got %v, want %v", c.read, c.write, got, want)
		}
		_ = ring.Close()
	}
	if got := timeoutsOf(struct{ *redis.Client }{}); got != (timeouts{}) {
		t.Errorf("got %v of no client", got)
	}
}

// A call is bound by what its answer is worth, and one read time-out at least. A caller that does the sending itself has
// to be back by then.
func TestBound(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		read, write, useful time.Duration
		keys                int
		want                Bound
	}{
		{time.Second, time.Second, 3 * time.Second, 1000, Bound{3 * time.Second, true}},
		{time.Second, time.Second, 2 * time.Second, 1000, Bound{2 * time.Second, true}},
		{time.Second, time.Second, 1900 * time.Millisecond, 1000, Bound{1900 * time.Millisecond, false}},
		{time.Second, time.Second, 1900 * time.Millisecond, plainKeys, Bound{1900 * time.Millisecond, true}},
		{time.Second, time.Second, time.Millisecond, 1, Bound{time.Second, true}},
		{time.Second, 2 * time.Second, time.Millisecond, 1, Bound{time.Second, false}},
		{time.Second, -1, time.Hour, 1, Bound{time.Hour, false}},
		{-1, time.Second, time.Millisecond, 1, Bound{readTimeout, false}},
		{-1, time.Second, time.Minute, 1, Bound{time.Minute, false}},
	} {
		rdb := redis.NewClient(&redis.Options{ReadTimeout: c.read, WriteTimeout: c.write})
		if got := New(rdb, Options{}).Bound(c.useful, c.keys); got != c.want {
			t.Errorf("of %+v: got %v", c, got)
		}
		if got := New(struct{ *redis.Client }{rdb}, Options{}).Bound(c.useful, c.keys); got.within != c.want.within || got.inline {
			t.Errorf("of %+v, embedded: got %v", c, got)
		}
		_ = rdb.Close()
	}
}
