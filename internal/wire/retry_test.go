package wire

import (
	"io"
	"testing"
	"testing/synctest"
	"time"
)

// A call that is worth something for some time yet is sent again after a quarter of that at the latest, but not at once.
func TestPauseWithinWhatRemains(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ remaining, want time.Duration }{
		{time.Minute, time.Second},
		{400 * time.Millisecond, 100 * time.Millisecond},
		{20 * time.Millisecond, 10 * time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			var again time.Time
			conn, l := newServed(t, func(p command) {
				again = time.Now()
				p.cmd().SetVal(int64(1))
			})
			call := newAsking(conn, "value", "k")
			call.Remaining = func() time.Duration { return c.remaining }
			call.Err = io.EOF
			began := time.Now()
			if !call.sendAfter(l, time.Second) {
				t.Fatal("it is not sent again")
			}
			<-call.done
			if got := again.Sub(began); got != c.want {
				t.Errorf("with %v left: sent again after %v, want %v", c.remaining, got, c.want)
			}
		})
	}
}
