package wire

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/clock"
)

// A call that is used again has nothing of its former use but its channels.
func TestCallIsNewAgain(t *testing.T) {
	t.Parallel()
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	t.Cleanup(func() { _ = rdb.Close() })
	failed, at := errors.New("refused"), clock.Now()
	c := &Call{
		Wish: Wish{
			Context: t.Context(), Run: &said{},
			Plain: true, Bounded: true, Replicas: Replicas{1, time.Second}, WaitForSlot: time.Second,
			Remaining: func() time.Duration { return 0 }, Heard: func(string) {},
		},
		Try: Try{Alone: true, twice: true},
		Result: Result{
			Reply: int64(1), Err: failed, Sent: at, Unanswered: at, Replicated: Replicated{1, failed, failed},
			Cut: failed, Gone: at, Silent: true,
		},
		Then: func(*Call) {},
		conn: New(rdb, Options{}),
	}
	c.fate.Store(taken)
	c.failed.Store(&failed)
	c.heard.Store(1)
	c.done, c.unused = make(chan struct{}, 1), make(chan struct{})
	c.tries, c.moving, c.pauses, c.byCaller = 1, at, 1, true
	done, unused := c.done, c.unused

	c.Reset()
	if c.done != done || c.unused != unused {
		t.Error("a channel is lost")
	}
	if c.Context != nil || c.Run != nil ||
		c.Plain || c.Bounded || c.Replicas != (Replicas{}) || c.WaitForSlot != 0 ||
		c.Remaining != nil || c.Heard != nil || c.Then != nil || c.conn != nil {
		t.Errorf("the request is still there: %+v", c.Wish)
	}
	if c.Alone || c.twice {
		t.Errorf("the try is still there: %+v", c.Try)
	}
	if c.Result != (Result{}) {
		t.Errorf("the result is still there: %+v", c.Result)
	}
	if c.IsAbandoned() || c.Failed() != nil || c.heard.Load() != 0 || c.fate.Load() != going || c.tries+c.pauses > 0 || c.byCaller || c.moving != (clock.Moment{}) {
		t.Error("it has come some way already")
	}
}

// A tracked notes what the tracker of a call is told.
type tracked struct {
	refuses bool
	told    []string
}

func (s *tracked) Before() bool {
	s.told = append(s.told, "before")
	return !s.refuses
}

func (s *tracked) After(mayCome bool) {
	s.told = append(s.told, fmt.Sprintf("after, may come: %t", mayCome))
}

func (s *tracked) Abandoned() { s.told = append(s.told, "abandoned") }

// The tracker of a call is told of each try, and whether it may still be executed.
func TestTrackerIsTold(t *testing.T) {
	t.Parallel()
	const before, gone, comes = "before", "after, may come: false", "after, may come: true"
	for name, c := range map[string]struct {
		bundled, alone string // what the server says to both; empty: it is done
		twice          bool   // the client may have sent it twice
		want           []string
	}{
		"done":                     {"", "", false, []string{before, gone}},
		"done twice":               {"", "", true, []string{before, comes}},
		"refused":                  {"NOPERM no", "NOPERM no", false, []string{before, gone, before, gone}},
		"refused, perhaps done":    {"ERR strange", "", false, []string{before, comes, before, gone}},
		"refused, by a go-between": {"NOPERM no", "ERR strange", false, []string{before, gone, before, comes}},
		"for the moment":           {"LOADING dataset", "", false, []string{before, gone}},
	} {
		_, l := newServed(t, func(p command) {
			text := c.alone
			if _, bundled := p.(*bundle); bundled {
				text = c.bundled
			}
			for _, call := range p.calls() {
				call.twice = c.twice
			}
			switch {
			case text != "":
				p.SetErr(refused(text))
			case len(p.calls()) > 1:
				p.cmd().SetVal([]any{done, done})
			default:
				p.cmd().SetVal(done)
			}
		})
		conn := newConn(t, l.sender)
		var batch []*Call
		for _, key := range []string{"a", "b"} {
			call := newAsking(conn, "value", key)
			call.Plain, call.Tracker = true, new(tracked)
			batch = append(batch, call)
		}
		l.exchange(slices.Clone(batch))
		for _, call := range batch {
			if got := call.Tracker.(*tracked).told; !call.isOver() || !slices.Equal(got, c.want) {
				t.Errorf("%s: over %t, told %q, want %q", name, call.isOver(), got, c.want)
			}
		}
	}
}

// Whether a try may have been sent twice says nothing of the next one.
func TestTwiceIsOfOneTry(t *testing.T) {
	t.Parallel()
	for _, tracker := range []Tracker{nil, new(tracked)} {
		c := &Call{Wish: Wish{Tracker: tracker}, Try: Try{twice: true}}
		if !c.before() || c.twice {
			t.Errorf("the next try counts as sent twice: %t", c.twice)
		}
	}
}

// A call that is abandoned before it is sent is not sent, and one that its tracker refuses.
func TestCallIsNotSent(t *testing.T) {
	t.Parallel()
	sent := 0
	conn, l := newServed(t, func(p command) {
		sent += len(p.calls())
		p.cmd().SetVal(done)
	})
	for name, refuse := range map[string]func(c *Call, then func(*Call)){
		"abandoned": func(c *Call, then func(*Call)) { c.Abandon(then) },
		"refused": func(c *Call, then func(*Call)) {
			c.Tracker, c.Then, c.done, c.Err = &tracked{refuses: true}, then, nil, ErrNotSent
		},
	} {
		for batch := 1; batch <= 2; batch++ {
			var calls []*Call
			over := 0
			for i := range batch {
				c := newAsking(conn, "value", strconv.Itoa(i))
				refuse(c, func(c *Call) {
					if over++; !errors.Is(c.Err, ErrNotSent) {
						t.Errorf("%s: got error %v", name, c.Err)
					}
				})
				calls = append(calls, c)
			}
			if batch == 1 {
				l.running, l.flying = 1, 1
				l.run(calls[0])
			} else {
				l.exchange(calls)
			}
			if over != batch || sent > 0 {
				t.Errorf("%s: %d of %d have an outcome, %d were sent", name, over, batch, sent)
			}
		}
	}
}

// An abandoned call hands its outcome over later, and its tracker is told. If the outcome has come already it cannot be
// abandoned.
func TestAbandon(t *testing.T) {
	t.Parallel()
	conn, _ := newServed(t, nil)
	s, then := new(tracked), 0
	c := newAsking(conn, "value", "k")
	c.Tracker = s
	if !c.Abandon(func(*Call) { then++ }) || !c.IsAbandoned() || !slices.Equal(s.told, []string{"abandoned"}) {
		t.Errorf("abandoned %t, told %q", c.IsAbandoned(), s.told)
	}
	if c.finish(); then != 1 || c.isOver() {
		t.Errorf("its outcome was handed over %d times, to the caller %t", then, c.isOver())
	}
	c = newAsking(conn, "value", "k")
	c.finish()
	if c.Abandon(func(*Call) { then++ }) || c.IsAbandoned() || then != 1 {
		t.Error("it is abandoned although its outcome is there")
	}
}

// The texts at the end of a reply are messages, in their order. What is left is the reply.
func TestMessages(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		reply any
		err   error
		want  []string
		rest  any
	}{
		{int64(1), nil, nil, int64(1)},
		{"text", nil, nil, "text"},
		{nil, nil, nil, nil},
		{[]any{int64(1), "a", "b"}, nil, []string{"a", "b"}, int64(1)},
		{[]any{"first", "a"}, nil, []string{"a"}, "first"},
		{[]any{int64(0), "who", int64(2), "a", "b", "c"}, nil, []string{"a", "b", "c"}, []any{int64(0), "who", int64(2)}},
		{[]any{int64(0), "who", int64(2)}, nil, nil, []any{int64(0), "who", int64(2)}},
		{[]any{int64(1), "a"}, io.EOF, nil, []any{int64(1), "a"}},
	} {
		call := &Call{Result: Result{Reply: c.reply, Err: c.err}}
		if got := call.messages(); !slices.Equal(got, c.want) || !reflect.DeepEqual(call.Reply, c.rest) {
			t.Errorf("of %v: got messages %q and reply %v, want %q and %v", c.reply, got, call.Reply, c.want, c.rest)
		}
	}
}
