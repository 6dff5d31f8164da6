package owners

import (
	"testing"
	"testing/synctest"
	"time"
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
