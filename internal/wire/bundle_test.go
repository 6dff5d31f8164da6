package wire

import (
	"testing"

	"github.com/seed-14de3678/redislock/internal/clock"
)

// refused is an error of the server.
type refused string

func (r refused) Error() string { return string(r) }
func (refused) RedisError()     {}

// bundleOf makes a bundle of a call for each key, which was sent.
func bundleOf(keys ...string) *bundle {
	value := "value"
	b := &bundle{of: NewScript("bundle", func() string { return "return 1" })}
	for _, key := range keys {
		c := &Call{Request: Request{Keys: []string{key}, Beside: []string{"line"}, Value: &value, TTL: 1000}}
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
	const done = int64(BundleDone)
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
	b.SetVal([]any{int64(BundleDone), int64(BundleRefused), "1", nil})
	b.answered()
	for i, c := range b.inside {
		if done := c.Err == nil; done != (i == 0) || c.IsUnanswered() != (i > 1) {
			t.Errorf("%s: got done %t, unanswered %t", c.Keys[0], done, c.IsUnanswered())
		}
	}
}
