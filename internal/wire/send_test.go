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

// A slow server answers the first try of a call after some time, and so on; what it has no answer for hangs for a day.
type slow []struct {
	after time.Duration
	err   error // nil: the call is done
}

// A trier is a sender to such a server. It notes how many tries there were, and when.
type trier struct {
	answers slow
	began   time.Time
	at      []time.Duration
	last    func(c *Call) error // answers the others; nil: they hang
}

func (s *trier) send(commands []command, withSource func(command) bool) {
	server(func(p command) {
		c := p.calls()[0]
		n := len(s.at)
		s.at = append(s.at, time.Since(s.began))
		switch {
		case n < len(s.answers):
			time.Sleep(s.answers[n].after)
			p.SetErr(s.answers[n].err)
		case s.last != nil:
			p.SetErr(s.last(c))
		default:
			time.Sleep(24 * time.Hour)
			p.SetErr(io.EOF)
		}
		if p.Err() == nil {
			p.cmd().SetVal(done)
		}
	}).send(commands, withSource)
}

// tries returns when there was a try, after those that are under way now have begun.
func (s *trier) tries() []time.Duration {
	synctest.Wait()
	return s.at
}

// newTrier makes a Conn to such a server, and a call for it.
func newTrier(t *testing.T, answers slow) (s *trier, conn *Conn, c *Call) {
	t.Helper()
	time.Sleep(time.Hour) // it is not the begin of a process
	s = &trier{answers: answers, began: time.Now()}
	return s, newConn(t, s), &Call{Wish: Wish{Context: t.Context(), Run: &said{key: "k"}}}
}

// runs reports whether the timer of a timeout runs, and stops it.
func (t *timeout) runs() bool { return t != nil && t.timer != nil && t.timer.Stop() }

var (
	loading  = refused("LOADING Redis is loading the dataset in memory")
	tryAgain = refused("TRYAGAIN Multiple keys request during rehashing of slot")
)

// A bounded call ends when nobody has answered for so long. A server with a reason may take longer.
func TestBoundOfSilence(t *testing.T) {
	t.Parallel()
	const within, patience = time.Second, 100 * time.Millisecond
	for name, c := range map[string]struct {
		server slow
		last   func(*Call) error
		end    End
		after  time.Duration // 0: not known
		err    error
		silent bool
	}{
		"at once":               {slow{{0, nil}}, nil, Settled, 0, nil, false},
		"in time":               {slow{{within - 1, nil}}, nil, Settled, within - 1, nil, false},
		"never":                 {nil, nil, Silent, within, nil, false},
		"only after a reason":   {slow{{900 * time.Millisecond, loading}}, nil, Silent, 900*time.Millisecond + within, nil, false},
		"only after a loss":     {slow{{900 * time.Millisecond, io.EOF}}, nil, Silent, within, nil, false},
		"a loss, then a pause":  {slow{{0, io.EOF}, {0, io.EOF}, {within - 310*time.Millisecond, io.EOF}}, nil, Settled, within, io.EOF, true},
		"a slot that is moving": {nil, func(*Call) error { return tryAgain }, Settled, 0, tryAgain, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, conn, call := newTrier(t, c.server)
			s.last = c.last
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			end := conn.Send(ctx, call, Bound{within: within}, patience)
			if took := time.Since(s.began); end != c.end || took != c.after && c.after != 0 {
				t.Errorf("%s: got end %v after %s, want %v after %s", name, end, took, c.end, c.after)
			}
			if end == Settled && (!errors.Is(call.Err, c.err) || call.Silent != c.silent) {
				t.Errorf("%s: got error %v, silent %t, want %v and %t", name, call.Err, call.Silent, c.err, c.silent)
			}
			if end != Settled {
				call.Abandon(nil)
			}
			tries := len(s.tries())
			if time.Sleep(48 * time.Hour); len(s.tries()) != tries {
				t.Errorf("%s: it was sent %d times, the last time after its end", name, len(s.tries()))
			}
			if under := conn.under.Load(); under != 0 || call.limit.runs() {
				t.Errorf("%s: %d calls count as under way, or a timer goes on", name, under)
			}
		})
	}
}

// How long a slot may move is for the caller to say, however seldom the server is asked meanwhile.
func TestSlotMovesForLong(t *testing.T) {
	t.Parallel()
	const within, wait = 100 * time.Millisecond, 20 * time.Second
	synctest.Test(t, func(t *testing.T) {
		s, conn, call := newTrier(t, nil)
		s.last = func(*Call) error { return tryAgain }
		call.WaitForSlot = wait
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		end := conn.Send(ctx, call, Bound{within: within}, 0)
		if took := time.Since(s.began); end != Settled || !errors.Is(call.Err, tryAgain) || took < wait || took > wait+time.Second {
			t.Errorf("got end %v and error %v after %s, want its own after %s", end, call.Err, took, wait)
		}
		pause := 50 * time.Millisecond
		tries := s.tries()
		for i, at := range tries[1:] {
			if got := at - tries[i]; got < pause || got >= 2*pause {
				t.Errorf("pause %d: got %s, want %s and up to twice as long", i, got, pause)
			}
			pause = min(2*pause, 400*time.Millisecond)
		}
	})
}

// A caller whose context ends waits for the outcome a little longer, but not for a slot that moves, and for a connection
// only half as long.
func TestSendOutlivesContext(t *testing.T) {
	t.Parallel()
	const ends, patience = time.Second, 100 * time.Millisecond
	connecting := func(c *Call) error {
		<-c.Context.Done()
		return context.Cause(c.Context)
	}
	for name, c := range map[string]struct {
		server  slow
		last    func(*Call) error
		bounded bool
		end     End
		after   time.Duration // since the context ended
		err     error
		cut     bool
	}{
		"never answered":             {nil, nil, false, Ended, patience, nil, false},
		"answered soon":              {slow{{ends + patience/4, nil}}, nil, false, Settled, patience / 4, nil, false},
		"answered later":             {slow{{ends + 3*patience/4, nil}}, nil, false, Settled, 3 * patience / 4, nil, false},
		"moving":                     {nil, func(*Call) error { return tryAgain }, false, Settled, 0, tryAgain, true},
		"pausing":                    {slow{{0, io.EOF}, {0, io.EOF}, {ends - 210*time.Millisecond, io.EOF}}, nil, false, Settled, patience, io.EOF, true},
		"connecting":                 {nil, connecting, true, Settled, patience / 2, ErrNotSent, false},
		"without time to hear of it": {slow{{ends + patience + 1, nil}}, nil, true, Ended, patience, nil, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, conn, call := newTrier(t, c.server)
			s.last = c.last
			b := Bound{}
			if c.bounded {
				b.within = time.Hour
			}
			why := errors.New("enough")
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(ends, func() { cancel(why) })
			end := conn.Send(ctx, call, b, patience)
			if took := time.Since(s.began) - ends; end != c.end || took != c.after {
				t.Errorf("%s: got end %v %s after that of the context, want %v after %s", name, end, took, c.end, c.after)
			}
			if end == Settled && (!errors.Is(call.Err, c.err) || (call.Cut != nil) != c.cut || c.cut && !errors.Is(call.Cut, why)) {
				t.Errorf("%s: got error %v, cut by %v, want %v, cut %t", name, call.Err, call.Cut, c.err, c.cut)
			}
			if end != Settled {
				call.Abandon(nil)
			}
			time.Sleep(48 * time.Hour)
			synctest.Wait()
			if under := conn.under.Load(); under != 0 || call.limit.runs() {
				t.Errorf("%s: %d calls count as under way, or a timer goes on", name, under)
			}
		})
	}
}

// A wait that is over has no timer go on, however long it might have been.
func TestNoTimerAfterWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, conn, call := newTrier(t, slow{{2 * time.Second, nil}, {2 * time.Second, nil}})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for _, b := range []Bound{{within: 24 * time.Hour}, {}} {
			if end := conn.Send(ctx, call, b, 24*time.Hour); end != Settled {
				t.Fatalf("got end %v", end)
			}
			time.Sleep(2 * longestTimer)
			if call.limit.runs() {
				t.Error("a timer goes on")
			}
			call.Reset()
			call.Wish = Wish{Context: t.Context(), Run: &said{key: "k"}}
			cancel()
		}
	})
}

// A caller does the sending itself if it cannot leave anyway, or need not. It does not if its wait may have to end
// before the Redis client gives up, or if the server did not answer the latest request.
func TestCallerSends(t *testing.T) {
	t.Parallel()
	inline := Bound{within: time.Hour, inline: true}
	for name, c := range map[string]struct {
		bound          Bound
		ends, stays    bool
		replicas       int
		silent, itself bool
	}{
		"unbounded":                        {itself: true},
		"unbounded, silent":                {silent: true, itself: true},
		"that may leave":                   {ends: true},
		"that stays":                       {ends: true, stays: true, itself: true},
		"that stays, silent":               {ends: true, stays: true, silent: true},
		"bounded":                          {bound: Bound{within: time.Hour}},
		"bounded by the client":            {bound: inline, itself: true},
		"bounded by the client, silent":    {bound: inline, silent: true},
		"bounded by the client, replicas":  {bound: inline, replicas: 1},
		"bounded by the client, may leave": {bound: inline, ends: true},
	} {
		synctest.Test(t, func(t *testing.T) {
			_, conn, call := newTrier(t, slow{{time.Second, nil}})
			conn.timeouts = timeouts{time.Second, time.Second, true}
			call.Replicas.Wanted = c.replicas
			conn.main.silent.Store(c.silent)
			conn.lanes.Store(destination{replicas: call.Replicas}, conn.main)
			ctx, cancel := context.Background(), func() {}
			if c.ends {
				ctx, cancel = context.WithCancel(ctx)
			}
			defer cancel()
			if c.stays {
				ctx = Stay(ctx, time.Minute)
			}
			call.Context = ctx
			if end := conn.Send(ctx, call, c.bound, time.Second); end != Settled || call.byCaller != c.itself {
				t.Errorf("%s: got end %v, sent by itself %t, want %t", name, end, call.byCaller, c.itself)
			}
			if conn.main.silent.Load() {
				t.Errorf("%s: the server counts as silent although it has answered", name)
			}
		})
	}
}

// A server counts as silent from a request without an answer until one with an answer.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	_, l := newServed(t, nil)
	for _, c := range []struct {
		err  error
		want bool
	}{{nil, false}, {io.EOF, true}, {io.EOF, true}, {loading, false}, {redis.ErrPoolTimeout, true}, {nil, false}} {
		if l.note(c.err); l.silent.Load() != c.want {
			t.Errorf("after %v it is silent: %t", c.err, l.silent.Load())
		}
	}
}
