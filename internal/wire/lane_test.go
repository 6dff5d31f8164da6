package wire

import (
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/clock"
)

// A flight is some commands on their way to a server that answers when the test says so.
type flight struct {
	commands []command
	done     chan struct{}
}

// land has the commands answered.
func (f flight) land() {
	close(f.done)
	synctest.Wait()
}

// A sky is a sender that has the test answer.
type sky chan flight

func (s sky) send(commands []command, _ func(command) bool) {
	for _, p := range commands {
		p.prepare(clock.Now(), false)
	}
	f := flight{commands, make(chan struct{})}
	s <- f
	<-f.done
	for _, p := range commands {
		p.cmd().SetVal(done)
	}
}

// want checks how many commands there are in each of the flights that have begun since.
func (s sky) want(t *testing.T, sizes ...int) (begun []flight) {
	t.Helper()
	synctest.Wait()
	var got []int
	for len(s) > 0 {
		f := <-s
		begun, got = append(begun, f), append(got, len(f.commands))
	}
	if !slices.Equal(got, sizes) {
		t.Fatalf("got flights of %v commands, want %v", got, sizes)
	}
	return begun
}

// newConn makes a Conn that sends over such a sender.
func newConn(t *testing.T, s sender) *Conn {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	t.Cleanup(func() { _ = rdb.Close() })
	conn := New(rdb, Options{Bundle: newBundle()})
	conn.main = conn.newLane(s, 0)
	return conn
}

// inSky runs a test with a lane to such a server, and a function that asks so many times at once.
func inSky(t *testing.T, test func(t *testing.T, air sky, l *lane, ask func(calls int))) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		air, asked := make(sky, 100), 0
		conn := newConn(t, air)
		test(t, air, conn.main, func(calls int) {
			for range calls {
				asked++
				conn.main.send(newAsking(conn, "value", strconv.Itoa(asked)), false)
			}
		})
		synctest.Wait()
		if l := conn.main; l.running != 0 || l.flying != 0 || len(l.waiting) > 0 || l.overdueTimer != nil && l.overdueTimer.Stop() {
			t.Errorf("in the end %d batches and %d calls are under way and %d wait", l.running, l.flying, len(l.waiting))
		}
	})
}

// Two batches are under way at a time. What gathers meanwhile goes in fair shares, and then the lane is as it was before.
func TestLaneGathers(t *testing.T) {
	t.Parallel()
	inSky(t, func(t *testing.T, air sky, _ *lane, ask func(int)) {
		for range 3 {
			ask(2)
			first := air.want(t, 1, 1)
			ask(7)
			air.want(t)
			first[0].land()
			second := air.want(t, 4)
			first[1].land()
			third := air.want(t, 3)
			second[0].land()
			third[0].land()
			air.want(t)
		}
	})
}

// A caller that does the sending itself has others go on with what has gathered meanwhile.
func TestLaneGathersBehindCaller(t *testing.T) {
	t.Parallel()
	inSky(t, func(t *testing.T, air sky, l *lane, ask func(int)) {
		ask(1)
		first := air.want(t, 1)
		returned := make(chan bool, 1)
		go func() {
			conn := newConn(t, air)
			l.send(newAsking(conn, "value", "of the caller"), true)
			returned <- true
		}()
		own := air.want(t, 1)
		ask(3)
		own[0].land()
		next := air.want(t, 2)
		if len(returned) == 0 {
			t.Error("the caller sends for others")
		}
		first[0].land()
		last := air.want(t, 1)
		next[0].land()
		last[0].land()
	})
}

// While connections hang, what waits behind them goes after some time each, and no more than usual goes afterwards.
func TestLaneOverdue(t *testing.T) {
	t.Parallel()
	inSky(t, func(t *testing.T, air sky, l *lane, ask func(int)) {
		for range 3 {
			ask(2)
			hung := air.want(t, 1, 1)
			time.Sleep(time.Hour)
			ask(9)
			time.Sleep(overdue - 1)
			air.want(t)
			time.Sleep(time.Nanosecond)
			hung = append(hung, air.want(t, 6)...)
			time.Sleep(overdue - 1)
			air.want(t)
			time.Sleep(time.Nanosecond)
			hung = append(hung, air.want(t, 3)...)
			for _, f := range hung {
				f.land()
			}
			l.relieve() // in vain, as if the last call had gone in this very moment
			ask(3)
			hung = air.want(t, 1, 1)
			for _, f := range hung {
				f.land()
			}
			air.want(t, 1)[0].land()
		}
	})
}

// Behind batches that hang one more is under way for each overdue, and they make place for no others when they return.
func TestLaneOverdueReturns(t *testing.T) {
	t.Parallel()
	inSky(t, func(t *testing.T, air sky, _ *lane, ask func(int)) {
		ask(2)
		hung := air.want(t, 1, 1)
		ask(1)
		time.Sleep(overdue)
		hung = append(hung, air.want(t, 1)...)
		ask(2)
		hung[0].land()
		air.want(t)
		hung[1].land()
		next := air.want(t, 2)
		hung[2].land()
		next[0].land()
	})
}

// A recorder is a sender to a server that knows scripts, or does not. It notes what is sent: of how many calls, and
// whether with the source.
type recorder struct {
	known  map[*Script]bool
	learns bool
	answer func(p command) // nil: all are done
	sent   [][]sentCommand
}

type sentCommand struct {
	calls  int
	source bool
}

func (r *recorder) send(commands []command, withSource func(command) bool) {
	var sent []sentCommand
	for _, p := range commands {
		source := withSource(p)
		p.prepare(clock.Now(), source)
		sent = append(sent, sentCommand{len(p.calls()), source})
		script := p.script()
		switch {
		case !source && !r.known[script]:
			p.SetErr(refused("NOSCRIPT No matching script. Please use EVAL."))
			continue
		case r.learns && source:
			r.known[script] = true
		}
		if p.SetErr(nil); r.answer != nil {
			r.answer(p)
		} else {
			p.cmd().SetVal(done)
		}
	}
	if len(sent) > 0 {
		r.sent = append(r.sent, sent)
	}
}

// A differently is a run of another script.
type differently struct{ said }

var another = NewScript("another", func(string) string { return "return 3" })

func (*differently) Script() *Script { return another }

// The first command of each script that a server does not know brings the source. If that does not help the others, each
// brings it.
func TestLaneBringsSource(t *testing.T) {
	t.Parallel()
	const named, sourced = false, true
	for learns, want := range map[bool][][]bool{
		true:  {{named, named, named, named}, {sourced, named, sourced, named}},
		false: {{named, named, named, named}, {sourced, named, sourced, named}, {sourced, sourced}},
	} {
		r := &recorder{known: make(map[*Script]bool), learns: learns}
		conn := newConn(t, r)
		calls := []*Call{newAsking(conn, "a", "1"), newAsking(conn, "b", "2"), newAsking(conn, "c", "3"), newAsking(conn, "d", "4")}
		for _, c := range calls[2:] {
			c.Alike, c.Run = false, &differently{*c.Run.(*said)}
		}
		conn.main.exchange(slices.Clone(calls))
		var got [][]bool
		for _, sent := range r.sent {
			var sources []bool
			for _, s := range sent {
				sources = append(sources, s.source)
			}
			got = append(got, sources)
		}
		if !slices.EqualFunc(got, want, slices.Equal) {
			t.Errorf("a server that learns: %t: got sources %v, want %v", learns, got, want)
		}
		for i, c := range calls {
			if !c.isOver() || c.Err != nil || c.Reply != any(done) {
				t.Errorf("a server that learns: %t: call %d: over %t, reply %v, error %v", learns, i, c.isOver(), c.Reply, c.Err)
			}
		}
	}
}

// Plain calls share a script, until it turns out that their keys are on several servers. Those of callers that ask again
// do not, because most of them are refused.
func TestLaneShares(t *testing.T) {
	t.Parallel()
	r := &recorder{learns: true, known: map[*Script]bool{asks: true}}
	misplaced := false
	r.answer = func(p command) {
		switch _, bundled := p.(*bundle); {
		case bundled && misplaced:
			p.SetErr(refused("CROSSSLOT Keys in request don't hash to the same slot"))
		case bundled:
			p.cmd().SetVal(slices.Repeat([]any{done}, len(p.calls())))
		default:
			p.cmd().SetVal(done)
		}
	}
	conn := newConn(t, r)
	// sends has a lane send some plain calls.
	sends := func(l *lane, calls int, want ...[]sentCommand) {
		t.Helper()
		r.sent, r.known[conn.setup.bundle.Script] = nil, true
		var batch []*Call
		for i := range calls {
			c := newAsking(conn, "value", strconv.Itoa(i))
			c.Plain = true
			batch = append(batch, c)
		}
		l.exchange(slices.Clone(batch))
		if !slices.EqualFunc(r.sent, want, slices.Equal) {
			t.Errorf("got %v, want %v", r.sent, want)
		}
		for i, c := range batch {
			if !c.isOver() || c.Err != nil {
				t.Errorf("call %d: over %t, error %v", i, c.isOver(), c.Err)
			}
		}
	}
	shared, alone := []sentCommand{{calls: 3}}, []sentCommand{{calls: 1}, {calls: 1}, {calls: 1}}
	sends(conn.main, 1, alone[:1])
	sends(conn.main, 3, shared)
	sends(conn.main.repeats, 3, alone)
	misplaced = true
	sends(conn.main, 3, shared, alone)
	misplaced = false
	sends(conn.main, 3, alone)
}
