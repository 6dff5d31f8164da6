package wire

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-14de3678/redislock/internal/clock"
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

// A call is sent again a few times, after longer and longer pauses, and its run is told if an earlier try may have been
// executed. Then its outcome is that of the last try.
func TestTries(t *testing.T) {
	t.Parallel()
	for err, resent := range map[error]bool{io.EOF: true, loading: false, refused("UNBLOCKED force unblock"): true} {
		for tries := 1; tries <= DefaultTries+1; tries++ {
			synctest.Test(t, func(t *testing.T) {
				s, conn, call := newTrier(t, nil)
				s.last = func(*Call) error {
					if len(s.at) < tries {
						return err
					}
					return nil
				}
				want := err
				if tries <= DefaultTries {
					want = nil
				}
				conn.Send(t.Context(), call, Bound{}, time.Second)
				if !errors.Is(call.Err, want) || len(s.tries()) != min(tries, DefaultTries) {
					t.Errorf("%v: got %v after %d tries, want %v after %d", err, call.Err, len(s.tries()), want, tries)
				}
				if under := conn.under.Load(); under != 0 {
					t.Errorf("%v: %d calls count as under way after %d tries", err, under, tries)
				}
				if got := call.Run.(*said).resent; got != (resent && tries > 1) {
					t.Errorf("%v: its run was told that it may have been executed: %t", err, got)
				}
				pause := 40 * time.Millisecond
				all := s.tries()
				for i, at := range all[1:] {
					if got := at - all[i]; got < pause/2 || got >= pause*3/2 {
						t.Errorf("pause %d: got %s, want about %s", i, got, pause)
					}
					pause *= 4
				}
			})
		}
	}
}

// A try that has ended because it had no connection yet is followed by another one at once, and does not count.
func TestTryWithoutConnection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, conn, call := newTrier(t, nil)
		s.last = func(*Call) error {
			if len(s.at) < 20 {
				return errNoConnection
			}
			return nil
		}
		conn.Send(t.Context(), call, Bound{}, time.Second)
		if took := time.Since(s.began); call.Err != nil || len(s.tries()) != 20 || took != 0 || call.Failed() != nil || call.IsUnanswered() {
			t.Errorf("got error %v after %d tries and %s, failed %v, unanswered %t", call.Err, len(s.tries()), took, call.Failed(), call.IsUnanswered())
		}
	})
}

// The outcome of a call with a caller that has gone is that of the try that was under way then: it is not sent again.
func TestNoTryAfterCaller(t *testing.T) {
	t.Parallel()
	for _, err := range []error{io.EOF, loading, tryAgain, errNoConnection} {
		synctest.Test(t, func(t *testing.T) {
			s, conn, call := newTrier(t, slow{{time.Second, err}})
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if end := conn.Send(ctx, call, Bound{}, 100*time.Millisecond); end != Ended {
				t.Fatalf("%v: got end %v", err, end)
			}
			var took time.Duration
			if !call.Abandon(func(*Call) { took = time.Since(s.began) }) {
				t.Fatalf("%v: it has an outcome already", err)
			}
			time.Sleep(time.Hour)
			synctest.Wait()
			if !errors.Is(call.Err, err) || len(s.tries()) != 1 || took != time.Second || call.Run.(*said).resent {
				t.Errorf("%v: got %v after %d tries and %s, told its run of another: %t", err, call.Err, len(s.tries()), took, call.Run.(*said).resent)
			}
			if call.sendAfter(conn.main, time.Second) {
				t.Error("a call that has just lost its caller is sent again")
			}
		})
	}
}

// For a caller that abandons a call it is noted why the latest try has failed, and when the server has last said so.
func TestFailureIsRemembered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &Call{Wish: Wish{Bounded: true}}
		var heard int64
		for _, s := range []struct {
			err, want error
			answer    bool
		}{{io.EOF, io.EOF, false}, {loading, loading, true}, {io.EOF, io.EOF, false}, {errNoConnection, io.EOF, false}, {errGone, io.EOF, false}} {
			time.Sleep(time.Second)
			c.Err = s.err
			c.remember()
			if now := int64(clock.Now().Mono); s.answer {
				heard = now
			}
			if !errors.Is(c.Failed(), s.want) || c.heard.Load() != heard {
				t.Errorf("%v: got %v, heard at %d, want %v and %d", s.err, c.Failed(), c.heard.Load(), s.want, heard)
			}
		}
		if c = new(Call); c.maySayNothing(clock.Now().Mono+time.Hour) != 0 {
			t.Error("a server that has said nothing yet may go on")
		}
	})
}
