package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
)

// asked sends a call for each key, each of which wants a replica, and returns the commands.
func asked(conn *Conn, within time.Duration, keys ...string) (commands []command) {
	for _, key := range keys {
		commands = append(commands, newSingle(&Call{Wish: Wish{Context: context.Background(), Run: &said{key: key}}}))
	}
	replicated{conn, Replicas{Wanted: 1, Within: within}}.send(commands, byName)
	return commands
}

const movedToTwo, movingToTwo, movedToThree = "-MOVED 3300 " + two, "-ASK 3300 " + two, "-MOVED 3300 " + three

// askings are what calls that want replicas come to.
var askings = map[string]struct {
	kind  string // of client; empty: of a Cluster
	says  map[string]string
	keys  string
	heard map[string][]string
	loads int // of the slots
	dials map[string]int
	errs  map[string]string // by key
}{
	"server": {
		kind: "server", keys: "a b",
		heard: map[string][]string{"one": {"evalsha a", "evalsha b", "wait 1 500"}},
		dials: map[string]int{"one": 1},
	},
	"ring": {
		kind: "ring", keys: "a b",
		heard: map[string][]string{"one": {"evalsha a", "evalsha b", "wait 1 500"}},
		dials: map[string]int{"one": 1},
	},
	"ring that redirects": {
		kind: "ring", keys: "b",
		says:  map[string]string{"one evalsha b": movedToTwo},
		heard: map[string][]string{"one": {"evalsha b", "wait 1 500"}},
		dials: map[string]int{"one": 1}, errs: map[string]string{"b": movedToTwo},
	},
	"cluster": {
		keys:  "a b {a}",
		heard: map[string][]string{"one": {"evalsha b", "wait 1 500"}, "two": {"evalsha a", "evalsha {a}", "wait 1 500"}},
		loads: 1, dials: map[string]int{"one": 1, "two": 1},
	},
	"moved": {
		keys: "a b {b}", says: map[string]string{"one evalsha b": movedToTwo, "one evalsha {b}": movedToTwo},
		heard: map[string][]string{
			"one": {"evalsha b", "evalsha {b}", "wait 1 500"},
			"two": {"evalsha a", "wait 1 500", "evalsha b", "evalsha {b}", "wait 1 500"},
		},
		loads: 3, dials: map[string]int{"one": 1, "two": 1},
	},
	"on its way": {
		keys: "a b {b}", says: map[string]string{"one evalsha b": movingToTwo, "one evalsha {b}": movingToTwo},
		heard: map[string][]string{
			"one": {"evalsha b", "evalsha {b}", "wait 1 500"},
			"two": {"evalsha a", "wait 1 500", "asking", "evalsha b", "asking", "evalsha {b}", "wait 1 500"},
		},
		loads: 2, dials: map[string]int{"one": 1, "two": 1},
	},
	"moved to an unknown node": {
		keys: "b", says: map[string]string{"one evalsha b": movedToThree},
		heard: map[string][]string{"one": {"evalsha b", "wait 1 500"}, "three": {"evalsha b", "wait 1 500"}},
		loads: 3, dials: map[string]int{"one": 1, "three": 1},
	},
	"moved twice": {
		keys: "b", says: map[string]string{"one evalsha b": movedToTwo, "two evalsha b": movedToThree},
		heard: map[string][]string{"one": {"evalsha b", "wait 1 500"}, "two": {"evalsha b", "wait 1 500"}},
		loads: 3, dials: map[string]int{"one": 1, "two": 1}, errs: map[string]string{"b": movedToThree},
	},
}

// Behind all commands for a server follows the question how many replicas have them. A Cluster redirects them once.
func TestReplicasAreAskedFor(t *testing.T) {
	t.Parallel()
	for name, c := range askings {
		synctest.Test(t, func(t *testing.T) {
			n := newNodes()
			n.says = c.says
			var rdb redis.Scripter
			switch c.kind {
			case "server":
				rdb = n.client(t)
			case "ring":
				rdb = n.ring(t)
			default:
				rdb = n.cluster(t)
			}
			commands := asked(New(rdb, Options{}), 500*time.Millisecond, strings.Fields(c.keys)...)
			synctest.Wait()
			if !reflect.DeepEqual(n.heard, c.heard) || n.loads != c.loads || !reflect.DeepEqual(n.dials, c.dials) || n.open["three"] > 0 {
				t.Errorf("%s: the nodes have heard %q, over %v connections, and were asked for slots %d times: want %q, %v, %d; open %v",
					name, n.heard, n.dials, n.loads, c.heard, c.dials, c.loads, n.open)
			}
			for _, p := range commands {
				call := p.calls()[0]
				got, want := "", strings.TrimPrefix(c.errs[call.Run.Keys()[0]], "-")
				if p.Err() != nil {
					got = p.Err().Error()
				}
				if got != want || call.Replicated != (Replicated{Got: 1}) || want == "" && p.cmd().Val() != any(done) {
					t.Errorf("%s: key %s: got %v, error %q and replicas %v, want error %q", name, call.Run.Keys()[0], p.cmd().Val(), got, call.Replicated, want)
				}
			}
		})
	}
}

// If the node of a key is not known its command fails, and the others are not sent either. A redirection leads nowhere
// if no nodes are known any more.
func TestReplicasOfUnknownNodes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newNodes()
		n.fails = errors.New("no slots")
		conn := New(n.cluster(t), Options{})
		for _, p := range asked(conn, time.Second, "a", "b") {
			if !errors.Is(p.Err(), n.fails) || len(p.Args()) == 0 || p.calls()[0].Sent.Wall == 0 {
				t.Errorf("got error %v, arguments %v", p.Err(), p.Args())
			}
		}
		if len(n.heard) > 0 {
			t.Errorf("they have heard %q", n.heard)
		}
		if _, _, ok := conn.master(three); ok {
			t.Error("there is a node")
		}
	})
}

// Replicas are waited for as long as is wanted, and half of the time that the client waits for any answer. The hooks of
// the client find what the context of the caller knows, if there is one caller.
func TestWaitForReplicas(t *testing.T) {
	t.Parallel()
	type key struct{}
	ctx, cancel := context.WithCancel(context.WithValue(context.Background(), key{}, "known"))
	cancel()
	synctest.Test(t, func(t *testing.T) {
		n := newNodes()
		rdb := n.client(t)
		var seen []any
		rdb.AddHook(pipelineHook(func(ctx context.Context, cmds []redis.Cmder) {
			if cmds[len(cmds)-1].Name() == "wait" {
				seen = append(seen, ctx.Value(key{}), ctx.Err())
			}
		}))
		conn := New(rdb, Options{})
		first := newSingle(&Call{Wish: Wish{Context: ctx, Run: &said{key: "a"}}})
		second := newSingle(&Call{Wish: Wish{Context: ctx, Run: &said{key: "b"}}})
		r := replicated{conn, Replicas{Wanted: 2, Within: time.Minute}}
		r.send([]command{first}, byName)
		r.send([]command{first, second}, bySource)
		if want := []any{"known", nil, nil, nil}; !reflect.DeepEqual(seen, want) {
			t.Errorf("the hooks have seen %v, want %v", seen, want)
		}
		if want := []string{"evalsha a", "wait 2 2000", "eval a", "eval b", "wait 2 2000"}; !reflect.DeepEqual(n.heard["one"], want) {
			t.Errorf("the server has heard %q, want %q", n.heard["one"], want)
		}
	})
}

// A pipelineHook is called with each pipeline.
type pipelineHook func(ctx context.Context, cmds []redis.Cmder)

func (pipelineHook) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (pipelineHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (h pipelineHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		h(ctx, cmds)
		return next(ctx, cmds)
	}
}

// A redirection names a slot and an address. Nothing else is one.
func TestRedirection(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"MOVED 3300 two:1": "moved to two:1", "ASK 3300 two:1": "on its way to two:1",
		"MOVED 3300": "", "ASK": "", "": "", "MOVED 3300 two:1 more": "", "ERR no slot": "",
	} {
		got := ""
		if addr, ask, ok := redirection(refused(text)); ask {
			got = "on its way to " + addr
		} else if ok {
			got = "moved to " + addr
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	if addr, ask, ok := redirection(nil); addr != "" || ask || ok {
		t.Error("no error is one")
	}
}

// What a server says of replicas is shown without the place in a script. Only if it would say so for ever is it no use to
// ask again.
func TestAnswerOfReplicas(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err          error
		shown, never string
	}{
		{nil, "<nil>", "<nil>"},
		{io.EOF, "EOF", "<nil>"},
		{refused("NOPERM no script: 1f, on @user_script:7."), "NOPERM no", "NOPERM no script: 1f, on @user_script:7."},
		{refused("ERR WAIT cannot be used with replica instances."), "ERR WAIT cannot be used with replica instances.", "<nil>"},
		{loading, loading.Error(), "<nil>"},
	} {
		a := Replicated{7, io.EOF, io.EOF}
		a.take(3, c.err)
		if a.Got != 3 || fmt.Sprint(a.Err) != c.shown || fmt.Sprint(a.Never) != c.never {
			t.Errorf("%v: got %v", c.err, a)
		}
	}
}
