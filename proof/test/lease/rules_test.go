package lease_test

import (
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/lease"
)

const ms = time.Millisecond

// at is a moment after some that is not the zero moment.
func at(d time.Duration) clock.Moment {
	return clock.Moment{Mono: time.Hour, Wall: 1000 * time.Hour}.Add(d)
}

// ends is the deadline of a lease of ttl that began then.
func ends(began, ttl time.Duration) clock.Moment { return at(began + clock.Window(ttl)) }

// begun is a lease of 10 s that began at 0.
func begun() lease.Lease { return lease.Begin(at(0), 10*time.Second) }

func TestBegin(t *testing.T) {
	got := begun()
	want := lease.Lease{
		TTL: 10 * time.Second, Longest: 10 * time.Second, Certain: 10 * time.Second,
		Obtained: at(0), Deadline: at(10*time.Second - 102*ms),
	}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestChange has what counts while a change is under way, and after it.
func TestChange(t *testing.T) {
	for _, test := range []struct {
		name   string
		lease  lease.Lease
		asked  time.Duration
		then   func(l *lease.Lease, before lease.Lease) bool // what happens after Ask; nil: nothing
		flag   bool                                          // what that, or Ask, reports
		counts lease.Lease                                   // only what it says is compared
	}{
		{
			"a shorter lease that is asked for counts", begun(), time.Second, nil, true,
			lease.Lease{TTL: 10 * time.Second, Longest: 10 * time.Second, Deadline: ends(1000, time.Second), Certain: time.Second, Changes: 1},
		},
		{
			"a longer one does not", begun(), time.Minute, nil, false,
			lease.Lease{TTL: 10 * time.Second, Longest: time.Minute, Deadline: ends(0, 10*time.Second), Certain: 10 * time.Second, Changes: 1},
		},
		{
			"a longer one that would end later, but by the wall clock", withWall(begun(), 2*time.Hour), time.Minute, nil, true,
			lease.Lease{
				TTL: 10 * time.Second, Longest: time.Minute, Certain: 10 * time.Second, Changes: 1,
				Deadline: clock.Moment{Mono: ends(0, 10*time.Second).Mono, Wall: ends(1000, time.Minute).Wall},
			},
		},
		{
			"what is not known does not become known",
			lease.Lease{},
			time.Second, nil, false,
			lease.Lease{Longest: time.Second, Changes: 1},
		},
		{
			"nothing was done: the deadline comes back", begun(), time.Second,
			func(l *lease.Lease, before lease.Lease) bool { return l.Settle(before, true) }, true,
			lease.Lease{TTL: 10 * time.Second, Longest: 10 * time.Second, Deadline: ends(0, 10*time.Second), Certain: 10 * time.Second, Changes: 2},
		},
		{
			"it may have been done: the shorter one counts", begun(), time.Second,
			func(l *lease.Lease, before lease.Lease) bool { return l.Settle(before, false) }, false,
			lease.Lease{TTL: 10 * time.Second, Longest: 10 * time.Second, Deadline: ends(1000, time.Second), Certain: time.Second, Changes: 2},
		},
		{
			"nothing was done, and a renewal has extended the lease", begun(), time.Minute,
			func(l *lease.Lease, before lease.Lease) bool {
				return l.Renew(at(time.Second), l.TTL, 1) && l.Settle(before, true)
			}, false,
			lease.Lease{TTL: 10 * time.Second, Longest: time.Minute, Deadline: ends(time.Second, 10*time.Second), Certain: 10 * time.Second, Changes: 2},
		},
		{
			"it was done", begun(), time.Minute,
			func(l *lease.Lease, before lease.Lease) bool {
				return !l.Settle(before, false) && l.Confirm(at(1000), at(5*time.Second), time.Minute)
			}, true,
			lease.Lease{TTL: time.Minute, Longest: time.Minute, Deadline: ends(1000, time.Minute), Certain: time.Minute, Changes: 2},
		},
		{
			"a shorter one was done", begun(), time.Second,
			func(l *lease.Lease, before lease.Lease) bool {
				return !l.Settle(before, false) && l.Confirm(at(1000), at(500*ms), time.Second)
			}, true,
			lease.Lease{TTL: time.Second, Longest: 10 * time.Second, Deadline: ends(1000, time.Second), Certain: time.Second, Changes: 2},
		},
		{
			"it was done, and that is known too late", begun(), time.Second,
			func(l *lease.Lease, _ lease.Lease) bool {
				return l.Confirm(at(1000), ends(1000, time.Second), time.Second)
			}, false,
			lease.Lease{TTL: 10 * time.Second, Longest: 10 * time.Second, Deadline: ends(1000, time.Second), Certain: time.Second, Changes: 1},
		},
	} {
		l := test.lease
		before, flag := l.Ask(at(1000), test.asked)
		if before != test.lease {
			t.Errorf("%s: got %+v as the lease before, want %+v", test.name, before, test.lease)
		}
		if test.then != nil {
			flag = test.then(&l, before)
		}
		if flag != test.flag {
			t.Errorf("%s: got %t, want %t", test.name, flag, test.flag)
		}
		want := test.counts
		if l.TTL != want.TTL || l.Longest != want.Longest || l.Deadline != want.Deadline || l.Certain != want.Certain ||
			l.Changes != want.Changes {
			t.Errorf("%s: got %+v, want %+v", test.name, l, want)
		}
	}
}

// withWall has a deadline that is later by the wall clock alone.
func withWall(l lease.Lease, later time.Duration) lease.Lease {
	l.Deadline.Wall += later
	return l
}

func TestRenew(t *testing.T) {
	asking := func(ttl time.Duration) lease.Lease {
		l := begun()
		l.Ask(at(0), ttl)
		return l
	}
	settled := asking(time.Minute)
	settled.Settle(begun(), false)
	unknown := asking(5 * time.Second)
	unknown.Settle(begun(), false)
	for _, test := range []struct {
		name    string
		lease   lease.Lease
		sent    time.Duration
		changes int
		want    bool
		ttl     time.Duration // that is certain
		began   time.Duration
	}{
		{"extends", begun(), 3 * time.Second, 0, true, 10 * time.Second, 3 * time.Second},
		{"a change is under way since before it was sent", asking(time.Minute), 3 * time.Second, 1, true, 10 * time.Second, 3 * time.Second},
		{"a change to less is under way, which may be done after it", asking(5 * time.Second), 3 * time.Second, 1, true, 5 * time.Second, 3 * time.Second},
		{"a change has begun since", asking(time.Minute), 3 * time.Second, 0, false, 10 * time.Second, 0},
		{"a change has ended since", settled, 3 * time.Second, 1, false, 10 * time.Second, 0},
		{"a change to less has ended before it was sent", unknown, 3 * time.Second, 2, true, 10 * time.Second, 3 * time.Second},
		{"an earlier one whose answer comes last", begun(), -1, 0, false, 10 * time.Second, 0},
	} {
		l := test.lease
		if got := l.Renew(at(test.sent), l.TTL, test.changes); got != test.want {
			t.Errorf("%s: got %t, want %t", test.name, got, test.want)
		}
		if want := ends(test.began, test.ttl); l.Deadline != want || l.Certain != test.ttl || l.TTL != 10*time.Second {
			t.Errorf("%s: got %+v, want a deadline at %v, of a ttl of %v", test.name, l, want, test.ttl)
		}
	}
}

// TestWatch has when a watched lease is renewed, and when its loss is told.
func TestWatch(t *testing.T) {
	short := lease.Begin(at(0), 200*ms)
	lowered := begun()
	lowered.Ask(at(0), 200*ms)
	none := clock.Moment{}
	moments := []struct {
		name      string
		got, want clock.Moment
	}{
		{"the next renewal of a lease", ptr(begun()).Next(at(0)), at(clock.Window(10*time.Second) / 3)},
		{"the next one when little is left", ptr(begun()).Next(ends(-3*time.Second, 10*time.Second)), ends(-2*time.Second, 10*time.Second)},
		{"the next one when it is not known how much is left", (&lease.Lease{Certain: 3 * time.Second, Deadline: at(time.Hour)}).Next(at(0)), at(time.Second)},
		{"the alarm", ptr(begun()).Alarm(), ends(-100*ms, 10*time.Second)},
		{"the alarm of a short lease", short.Alarm(), ends(-10*ms, 200*ms)},
		{"the alarm while a short lease may begin", lowered.Alarm(), ends(-10*ms, 200*ms)},
	}
	for _, m := range moments {
		if m.got != m.want {
			t.Errorf("%s: got %v, want %v", m.name, m.got, m.want)
		}
	}
	for _, test := range []struct {
		name  string
		next  clock.Moment
		due   clock.Moment
		early time.Duration
	}{
		{"at the renewal", at(3 * time.Second), at(3 * time.Second), 10 * time.Second / 30},
		{"at the alarm, which comes first", ends(0, 10*time.Second), ends(-100*ms, 10*time.Second), 0},
		{"at the alarm, without renewals", none, ends(-100*ms, 10*time.Second), 0},
	} {
		if due, early := ptr(begun()).Look(test.next); due != test.due || early != test.early {
			t.Errorf("look %s: got %v and %v, want %v and %v", test.name, due, early, test.due, test.early)
		}
	}
	for _, test := range []struct {
		name     string
		lease    lease.Lease
		at, next clock.Moment
		due      bool
		again    clock.Moment
	}{
		{"due", begun(), at(3 * time.Second), at(3 * time.Second), true, at(3*time.Second + 10*time.Second/9)},
		{"with others", begun(), at(3*time.Second - 10*time.Second/30), at(3 * time.Second), true, at(3*time.Second - 10*time.Second/30 + 10*time.Second/9)},
		{"not yet", begun(), at(3*time.Second - 10*time.Second/30 - 1), at(3 * time.Second), false, at(3 * time.Second)},
		{"not without renewals", begun(), at(3 * time.Second), none, false, none},
		{"of the shortest lease", lease.Begin(at(0), ms), at(1000), at(1000), true, at(1000 + ms)},
	} {
		if due, again := test.lease.Due(test.at, test.next); due != test.due || again != test.again {
			t.Errorf("%s: got %t and %v, want %t and %v", test.name, due, again, test.due, test.again)
		}
	}
}

func ptr(l lease.Lease) *lease.Lease { return &l }

// TestEnd has what is certain of the end of a lease.
func TestEnd(t *testing.T) {
	l, deadline := begun(), ends(0, 10*time.Second)
	for _, test := range []struct {
		name      string
		got, want any
	}{
		{"left", l.Left(at(time.Second)), clock.Window(10*time.Second) - time.Second},
		{"left behind the deadline", l.Left(deadline.Add(1)), time.Duration(-1)},
		{"left after the machine has slept", l.Left(clock.Moment{Mono: at(0).Mono, Wall: deadline.Wall}), time.Duration(0)},
		{"left of what is not known", ptr(lease.Lease{}).Left(at(0)), clock.Longest},
		{"covers what was sent before the deadline", l.Covers(deadline.Add(-1)), true},
		{"covers what was sent at the deadline", l.Covers(deadline), false},
		{"covers nothing", l.Covers(clock.Moment{}), false},
		{"over at the deadline", l.IsOver(deadline), false},
		{"over before the whole ttl", l.IsOver(at(10*time.Second - 1)), false},
		{"over after the whole ttl", l.IsOver(at(10 * time.Second)), true},
		{"over if nothing is known", ptr(lease.Lease{}).IsOver(at(0)), true},
	} {
		if test.got != test.want {
			t.Errorf("%s: got %v, want %v", test.name, test.got, test.want)
		}
	}
}
