package wire

import (
	"slices"
	"testing"

	"github.com/seed-14de3678/redislock/internal/clock"
)

// refused is an error of the server.
type refused string

func (r refused) Error() string { return string(r) }
func (refused) RedisError()     {}

// What the script of a test's bundle says of a call, and what each script of a test says if nothing was done.
const done, undone = int64(1), int64(0)

// newBundle makes one for tests, whose script is given the keys.
func newBundle() *Bundle {
	return &Bundle{
		Script: NewScript("bundle", func(string) string { return "return 1" }), Done: done, Undone: undone,
		Append: func(to []any, calls []*Call) []any {
			to = append(to, len(calls))
			for _, c := range calls {
				to = append(to, c.Run.Keys()[0])
			}
			return to
		},
	}
}

// A said is what a call of a test says: a key, for how long, and whose it is to be.
type said struct {
	key, value string
	ttl        int64
	resent     bool
}

func (*said) Script() *Script         { return asks }
func (r *said) Keys() []string        { return []string{r.key} }
func (*said) Size() (keys, args int)  { return 1, 2 }
func (r *said) Append(to []any) []any { return append(to, 1, r.key, r.value, r.ttl) }
func (r *said) Takes() bool           { return r.ttl > 0 }
func (r *said) Resent()               { r.resent = true }

func (r *said) IsLike(another Run) bool {
	o := another.(*said)
	return r.key == o.key && r.ttl == o.ttl
}

func (*said) IsRefusal(reply any) bool {
	all, ok := reply.([]any)
	return ok && all[0] == any(undone)
}

// bundleOf makes a bundle of a call for each key, which was sent.
func bundleOf(keys ...string) *bundle {
	b := &bundle{of: newBundle()}
	for _, key := range keys {
		c := &Call{Wish: Wish{Run: &said{key: key}}}
		b.inside, b.keys = append(b.inside, c), b.keys+1
	}
	b.prepare(clock.Now(), false)
	return b
}

// An error inside the script of a batch may come after some of it was done, unless it shows that nothing
// was.
func TestBatchErrorIsDoubted(t *testing.T) {
	t.Parallel()
	for text, unanswered := range map[string]bool{
		"ERR user_script:7: something":                      true,
		"WRONGTYPE Operation against a key":                 true,
		"OOM command not allowed":                           false,
		"NOPERM this user has no permissions":               false,
		"NOAUTH Authentication required.":                   false,
		"MISCONF Redis is configured to save RDB snapshots": false,
		"CROSSSLOT Keys in request don't hash to one slot":  false,
	} {
		b := bundleOf("a", "b")
		b.SetErr(refused(text))
		b.answered()
		for i, c := range b.inside {
			if c.Err != errUndone { //nolint:errorlint // it is this value
				t.Errorf("%s: got error %v of call %d, want it to be asked for by itself", text, c.Err, i)
			}
			if c.IsUnanswered() != unanswered {
				t.Errorf("%s: got unanswered %t of call %d, want %t", text, c.IsUnanswered(), i, unanswered)
			}
		}
	}
}

// A reply that is none of the script, as of a proxy that cuts it short, says nothing about any call: each is sent by itself,
// and may have been done before.
func TestBatchReplyOfAnotherLength(t *testing.T) {
	t.Parallel()
	for name, reply := range map[string]any{
		"empty": []any{}, "short": []any{done}, "long": []any{done, done, done}, "no list": done, "nothing": nil,
	} {
		b := bundleOf("a", "b")
		b.SetVal(reply)
		b.answered()
		for i, c := range b.inside {
			if c.Err != errUndone || c.Reply != nil { //nolint:errorlint // it is this value
				t.Errorf("%s: got reply %v and error %v of call %d, want it to be asked for by itself", name, c.Reply, c.Err, i)
			}
			if !c.IsUnanswered() {
				t.Errorf("%s: call %d counts as answered", name, i)
			}
		}
	}
}

// Of each call the script says that it was done, or that nothing of it was. Anything else says nothing.
func TestBatchReplyOfEachCall(t *testing.T) {
	t.Parallel()
	b := bundleOf("done", "refused", "strange", "missing")
	b.SetVal([]any{done, undone, "1", nil})
	b.answered()
	for i, c := range b.inside {
		if done := c.Err == nil; done != (i == 0) || c.IsUnanswered() != (i > 1) {
			t.Errorf("%s: got done %t, unanswered %t", c.Run.Keys()[0], done, c.IsUnanswered())
		}
	}
}

// A manyKeyed is a run with many keys.
type manyKeyed struct{ said }

func (m *manyKeyed) Keys() []string { return slices.Repeat([]string{m.key}, plainKeys) }

// A bundle has no more keys than a server should be held for, and none is made for one call.
func TestBundleHasAnEnd(t *testing.T) {
	t.Parallel()
	conn := newConn(t, nil)
	for calls, want := range map[int][]int{1: {1}, 2: {2}, 8: {8}, 9: {8, 1}, 20: {8, 8, 4}} {
		var batch []*Call
		for range calls {
			batch = append(batch, &Call{Wish: Wish{Plain: true, Run: &manyKeyed{said{key: "k"}}}})
		}
		var got []int
		for _, p := range conn.main.commands(batch, true) {
			got = append(got, len(p.calls()))
			if _, single := p.(*single); single != (len(p.calls()) == 1) {
				t.Errorf("a command of %d calls is a %T", len(p.calls()), p)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d calls: got commands of %v, want %v", calls, got, want)
		}
	}
}

// A command that a hook keeps does not keep the calls.
func TestCommandForgetsCalls(t *testing.T) {
	t.Parallel()
	var kept []*single
	conn, l := newServed(t, func(p command) {
		kept = append(kept, p.(*single))
		p.cmd().SetVal([]any{undone})
	})
	l.exchange([]*Call{newAsking(conn, "a", "k"), newAsking(conn, "b", "k"), newAsking(conn, "c", "other")})
	if len(kept) != 2 || slices.ContainsFunc(kept, func(s *single) bool { return s.call != nil || s.alike != nil }) {
		t.Errorf("calls are kept by %d commands", len(kept))
	}
}
