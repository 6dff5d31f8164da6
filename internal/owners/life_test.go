package owners

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-14de3678/redislock/internal/clock"
)

// What was not answered is reckoned with for as long as a guard against it can stand, and a little more; then it is forgotten.
func TestStampLife(t *testing.T) {
	t.Parallel()
	const life = 5*time.Minute + 10*time.Second
	for name, test := range map[string]struct {
		after time.Duration
		stamp string // of the next request
		kept  int    // when one of other keys was answered
	}{
		"before": {life - time.Millisecond, "id 1, closes id 0 at a", 1},
		"after":  {life, "id 0", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				closed, kept := newManual(t, true), newManual(t, true)
				for _, d := range []manual{closed, kept} {
					lost := d.request("obtain", "a")
					d.sends(lost, "id 0")
					d.ends(lost, unanswered)
				}
				time.Sleep(test.after)
				closed.sends(closed.request("obtain", "a"), test.stamp)
				other := kept.request("obtain", "b")
				kept.sends(other, "id 0")
				kept.ends(other, done)
				if got := len(kept.sent); got != test.kept {
					t.Errorf("%d requests are kept, want %d", got, test.kept)
				}
			})
		})
	}
}

// isKnown reports whether an owner is kept for a token.
func isKnown(token string) bool {
	known.Lock()
	defer known.Unlock()
	return known.byToken[token] != nil
}

// An owner is known as long as somebody uses it, and no longer.
func TestOwnerIsKnown(t *testing.T) {
	t.Parallel()
	const token = "known while it is used"
	for name, begin := range map[string]func() *Owner{
		"of a token that callers know": func() *Owner { return Of(token) },
		"of a lock":                    func() *Owner { return new(Owner).Show(token) },
	} {
		o := begin()
		if Of(token) != o || o.Use() != o {
			t.Fatalf("%s: it is another one", name)
		}
		for range 2 {
			if o.Done(token); !isKnown(token) {
				t.Fatalf("%s: it is forgotten while it is used", name)
			}
		}
		if o.Done(token); isKnown(token) {
			t.Errorf("%s: it is not forgotten", name)
		}
	}
}

// When callers learn the token of a lock, what the lock has not had answers to is known to all who use the token.
func TestShownOwnerHasItsRequests(t *testing.T) {
	t.Parallel()
	const token = "shown"
	before := Of(token)
	defer before.Done(token)
	d := newManual(t, false)
	lost := d.request("obtain", "a")
	d.Send(lost)
	d.ends(lost, unanswered)
	for range 2 { // the second time it has them already
		o := d.Show(token)
		defer o.Done(token)
		if o != before || len(o.sent) != 1 || o.sent[0] != lost.last {
			t.Fatalf("got %p with %d requests, want %p, which callers knew, with one", o, len(o.sent), before)
		}
	}
	if !d.shared {
		t.Error("the lock does not know that callers know its token")
	}
}

// Owners whose locks were left to expire are found when others come, and are not looked for each time.
func TestOwnersAreSwept(t *testing.T) {
	const owners = 1000
	expired, looks := false, 0
	over := func(clock.Moment) bool {
		looks++
		return expired
	}
	enter := func(kind string, n int) {
		for i := range n {
			token := fmt.Sprint(kind, i)
			o := Of(token)
			o.Stake(&client{}, nil, []string{"a"}, over)
			o.users-- // as Done does, which would look at this one
		}
	}
	enter("held", owners)
	if looks > 10*owners {
		t.Errorf("%d owners were looked at %d times", owners, looks)
	}
	expired = true
	enter("late", 2*owners)
	known.Lock()
	defer known.Unlock()
	if n := len(known.byToken); n > owners {
		t.Errorf("%d owners are known, want them to be forgotten", n)
	}
	clear(known.byToken)
	known.size = 0
}

// An owner is of no use any more once what it has not had answers to can do nothing.
func TestOwnerOfOldRequestsIsIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newManual(t, true)
		lost := d.request("obtain", "a")
		d.Send(lost)
		d.ends(lost, unanswered)
		if time.Sleep(GuardLife); !d.isIdle() {
			t.Error("it is not forgotten")
		}
	})
}
