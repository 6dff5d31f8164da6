package script_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/slot"
)

// atTheBeginning is a server whose clock stands still at its first µs: the least fencing number of all is given there.
func atTheBeginning(t *testing.T) *fixture {
	t.Helper()
	mini := redistest.StartMini(t)
	mini.Miniredis().SetTime(time.UnixMicro(1))
	return newFixture(t, mini)
}

// The next owner of a released set gets the least number there is, or the block behind it.
func TestLeastNumberIsPassedOn(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]proto.Numbers{"one": {First: 1, Last: 1}, "block": {First: 1, Last: 1 + proto.Block}} {
		s := atTheBeginning(t)
		keys, value, next := []string{s.key("a"), s.key("b")}, "mine", "next"
		s.holds(t, value, keys...)
		r := new(proto.Run)
		(&proto.Release{Set: fencedKeys(keys...), Value: &value}).Fill(r)
		r.Give(&proto.Next{Value: &next, TTL: longLease, Block: name == "block"})
		r.Prepare(&noStamp)
		if got, given := r.IsGiven(check.Must[any](t)(s.send(t, r))); !given || got != want {
			t.Errorf("%s: got %v, %v, want %v", name, got, given, want)
		}
	}
}

// A waiter is handed its set with the least number there is, which stands beside each key from then on. The script asks once whether it
// is there.
func TestLeastNumberIsHandedOver(t *testing.T) {
	t.Parallel()
	s := atTheBeginning(t)
	keys, value := []string{s.key("a"), s.key("b")}, "mine"
	s.holds(t, value, keys...)
	next := fakeWaiter{id: "next", write: keys, place: 1, ttl: longLease, fenced: true}
	s.enters(t, next)
	if got := s.ask(t, &proto.Release{Set: fencedKeys(keys...), Value: &value}); got != int64(1) {
		t.Fatalf("got reply %v", got)
	}
	if got, want := s.heard(t, 2), []string{"", "g|next|1|1"}; !slices.Equal(got, want) {
		t.Errorf("it hears %q, want %q", got, want)
	}
	for _, key := range keys {
		want := "1|" + strings.Split(next.value(), "|")[0]
		if got := s.rdb.HGet(t.Context(), slot.Beside("fence", key), "|").Val(); got != want {
			t.Errorf("the number of %s is %q, want %q", key, got, want)
		}
	}
}

// What stands in a line and is nobody's counts as dead even in the first ms of the clock: nobody is told that it is next.
func TestNobodyIsNextAtTheBeginning(t *testing.T) {
	t.Parallel()
	s := atTheBeginning(t)
	key, value := s.key("a"), "mine"
	s.holds(t, value, key)
	s.enters(t, fakeWaiter{id: "next", write: []string{key}, place: 1, ttl: time.Second})
	check.NoError(t, s.rdb.ZAdd(t.Context(), slot.Beside("line", key), redis.Z{Score: 2, Member: "nobody's"}).Err())
	if got := s.ask(t, &proto.Release{Set: lockKeys([]string{key}, nil), Value: &value}); got != int64(1) {
		t.Fatalf("got reply %v", got)
	}
	if got, want := s.heard(t, 2), []string{"", "g|next|1|0"}; !slices.Equal(got, want) {
		t.Errorf("it hears %q, want %q", got, want)
	}
}

// heard returns the next n messages to the waiters, also those that only ask who is there.
func (s *fixture) heard(t *testing.T, n int) (messages []string) {
	t.Helper()
	for len(messages) < n {
		if m, ok := check.Must[any](t)(s.ear.ReceiveTimeout(t.Context(), time.Minute)).(*redis.Message); ok {
			messages = append(messages, m.Payload)
		}
	}
	return messages
}
