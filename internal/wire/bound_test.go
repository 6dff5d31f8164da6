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
