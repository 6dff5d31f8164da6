package script_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// A waiter for a large set that is not granted it is looked at once, not once for each key: otherwise the release of a
// large set would hold the server up for a time that grows with the square of the keys, though it runs no more commands.
func TestHandOverLooksOnce(t *testing.T) {
	t.Parallel()
	redistest.EachServer(t, func(t *testing.T, kind redistest.Kind) {
		s := newFixture(t, redistest.Start(t, kind))
		const n, most = 3000, 2 * time.Second // of the server's CPU; it takes less than 0.3 s
		for _, what := range []string{"it has to ask", "its last key is held"} {
			keys := make([]string, n)
			for i := range keys {
				keys[i] = s.key(what + strconv.Itoa(i))
				check.NoError(t, s.rdb.Set(t.Context(), keys[i], "mine", longLease).Err())
			}
			want := int64(1)
			if what == "its last key is held" {
				s.hold(t, keys[n-1])
				want = -1
			}
			s.enters(t, fakeWaiter{id: "waiter", write: keys, place: 1, ttl: longLease, fenced: true})
			before := s.cpu(t)
			reply := s.release(t, keys, "mine")
			if used := s.cpu(t) - before; used > most {
				t.Errorf("%s: the release of %d keys took %v of the server", what, n, used)
			}
			if all, lost := reply.([]any); lost && all[0] != want || !lost && reply != want {
				t.Errorf("%s: got reply %v", what, reply)
			}
			s.wantLine(t, keys[0], "waiter")
		}
	})
}

// cpu is what the server has computed so far.
func (s *fixture) cpu(t *testing.T) time.Duration {
	t.Helper()
	seconds := s.rdb.InfoMap(t.Context(), "cpu").Item("CPU", "used_cpu_user")
	return time.Duration(check.Must[float64](t)(strconv.ParseFloat(seconds, 64)) * float64(time.Second))
}
