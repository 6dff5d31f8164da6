package owners

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/seed-14de3678/redislock/internal/clock"
)

// Owners are looked through when there are more than 64, and after that when there are twice as many as the look before has left,
// and 64.
func TestOwnersAreSweptNowAndThen(t *testing.T) {
	known.Lock()
	clear(known.byToken)
	known.size = 0
	known.Unlock()
	looks := 0
	over := func(clock.Moment) bool {
		looks++
		return false
	}
	var got []int
	for i := range 600 {
		o := Of(fmt.Sprint("now and then ", i))
		if looks > 0 {
			got = append(got, i+1)
		}
		if looks = 0; i == 0 {
			o.Stake(&client{}, nil, []string{"a"}, over)
		}
	}
	if want := []int{66, 196, 456}; !slices.Equal(got, want) {
		t.Errorf("there was a look when these came: %d, want %d", got, want)
	}
	known.Lock()
	defer known.Unlock()
	clear(known.byToken)
	known.size = 0
}

func TestHaveCommon(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b []string
		want bool
	}{
		{nil, nil, false},
		{nil, []string{"a"}, false},
		{[]string{"a"}, nil, false},
		{[]string{"a"}, []string{"a"}, true},
		{[]string{"a"}, []string{"b"}, false},
		{[]string{"a", "b"}, []string{"a", "c"}, true},
		{[]string{"a", "b"}, []string{"c", "b"}, true},
		{[]string{"a", "b"}, []string{"b"}, true},
		{[]string{"b"}, []string{"a", "b"}, true},
		{[]string{"a", "b"}, []string{"c", "d"}, false},
	} {
		if got := HaveCommon(c.a, c.b); got != c.want {
			t.Errorf("%q and %q: got %t, want %t", c.a, c.b, got, c.want)
		}
	}
}

// An operation under a token that nobody else knows is not counted.
func TestNobodysOperationIsNotCounted(t *testing.T) {
	t.Parallel()
	var nobody *Owner
	if got := nobody.Begin(); got != 0 {
		t.Errorf("got count %d", got)
	}
}

// What takes keys yields to those who have begun later to count on one of them, and so does what frees them. What only lengthens
// leases yields to nobody.
func TestWhatYields(t *testing.T) {
	t.Parallel()
	for what, want := range map[string]bool{"obtain": true, "release": true, "shorten": true, "lengthen": false} {
		for _, shared := range []bool{false, true} {
			d := newManual(t, shared)
			r := d.request(what, "a")
			r.Since = d.Begin()
			d.Stake(d.by, nil, []string{"a"}, nil)
			if d.Send(r); r.Stamp.Yields != want || r.Stamp.Known != shared {
				t.Errorf("%s: got stamp %+v, want Yields %t and Known %t", what, r.Stamp, want, shared)
			}
		}
	}
}

// What takes read keys may take write keys of its token away, so whoever takes keys meanwhile closes it.
func TestStampOfReadersUnderWay(t *testing.T) {
	t.Parallel()
	d := newManual(t, true)
	read := d.request("obtain", "a")
	read.Reads = true
	d.sends(read, "id 0")
	d.sends(d.request("obtain", "a"), "id 1, closes id 0 at a")
	d.ends(read, done)
	d.sends(d.request("obtain", "a"), "id 1")
}

// A try that says no name keeps the one that the try before it has said.
func TestStampKeepsItsName(t *testing.T) {
	t.Parallel()
	d := newManual(t, true)
	lost := d.request("obtain", "a")
	d.sends(lost, "id 0")
	d.ends(lost, unanswered)
	r := d.request("lengthen", "a")
	d.sends(r, "id 1, closes id 0 at a")
	d.ends(r, done)
	d.sends(r, "")
	if got, want := r.Stamp.Name, (Name{"id", 1}); got != want {
		t.Errorf("got name %v, want %v", got, want)
	}
}

// Ids of callers are short enough to be read, and long enough to differ.
func TestCallers(t *testing.T) {
	t.Parallel()
	if one, other := NewCaller(), NewCaller(); len(one) != 12 || len(other) != 12 || one == other {
		t.Errorf("got %q and %q, want two of 12 characters", one, other)
	}
}

// A token is fresh where its own context says so, and nowhere else.
func TestIsFresh(t *testing.T) {
	t.Parallel()
	ctx := Fresh(t.Context(), "a")
	if !IsFresh(ctx, "a") || IsFresh(ctx, "b") || IsFresh(ctx, "") || IsFresh(t.Context(), "a") || IsFresh(t.Context(), "") {
		t.Error("want the token of the context to be fresh, and no other one")
	}
}

// In virtual time, which begins in the year 2000, no token is older than that.
func TestMadeAtInVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const begin = 946684800000 // 2000-01-01
		for ms, want := range map[uint64]bool{begin: true, begin - 1: false, 1: false} {
			if got := MadeAt(stampOf(ms)); got.IsZero() == want {
				t.Errorf("%d ms: got %v", ms, got)
			}
		}
	})
}
