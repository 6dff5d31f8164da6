package line_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/slot"
)

// In each round a few waiters ask by themselves, those first that have not for the longest time. For all others the Client asks
// in calls of a bounded size, where those for one key stand together, in their order.
func TestRoundsAskForAll(t *testing.T) {
	inStill(t, func(t *testing.T, s *still) {
		const (
			waiters = 210
			alone   = 8
			full    = 192
			during  = 30 * time.Second
		)
		defer s.waits(t, waiters, "a", "b", "c")()
		time.Sleep(during)
		s.wantAnswers(t)
		rounds := s.rounds()
		if n := len(rounds); n < 6 || n > 7 {
			t.Fatalf("got %d rounds in %v, want 6 or 7", n, during)
		}
		for id, times := range s.askedBetween(time.Second, during) {
			if len(times) > 1 {
				t.Errorf("waiter %d has asked by itself at %v, although others have not", s.places[id], times)
			}
		}
		for _, round := range rounds {
			if n := len(s.askedBetween(round[0].at, round[0].at+time.Second)); n != alone {
				t.Errorf("%d ask by themselves, want %d", n, alone)
			}
			var keys, ids []string
			for _, call := range round {
				if len(call.ids) > full {
					t.Errorf("a call is for %d waiters, want %d at most", len(call.ids), full)
				}
				keys, ids = append(keys, call.keys...), append(ids, call.ids...)
			}
			byPlace := slices.IsSortedFunc(ids, func(a, b string) int { return int(s.places[a] - s.places[b]) })
			if len(round) != 2 || len(ids) != waiters-alone || !slices.IsSorted(keys) || byPlace {
				t.Errorf("got %d calls for %d waiters for %q, want 2 for %d, sorted by their keys", len(round), len(ids), keys, waiters-alone)
			}
			for i, id := range ids[1:] {
				if keys[i] == keys[i+1] && s.places[ids[i]] >= s.places[id] {
					t.Errorf("%d stands behind %d in a call", s.places[id], s.places[ids[i]])
				}
			}
		}
	})
}

// Waiters ask by themselves when the answer to a round says so, and one after the other if it says so of many.
func TestRoundsTellWhoAsks(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for name, test := range map[string]struct {
		waiters, call int // of which call the answer is
		answer        string
		who           []int           // in the call
		want          []time.Duration // after the round: when each of them asks
	}{
		"nobody":               {30, 1, toAsk(), nil, nil},
		"some at once":         {30, 1, toAsk(1, 0, 3, 0, 5, 0), []int{0, 2, 4}, []time.Duration{0, ms, 2 * ms}},
		"one when its time is": {30, 1, toAsk(2, 700), []int{1}, []time.Duration{702 * ms}},
		"of the second call":   {210, 2, toAsk(1, 500), []int{0}, []time.Duration{502 * ms}},
		"a right is missing":   {11, 1, "-NOPERM this user has no permissions\r\n", []int{0, 1, 2}, []time.Duration{0, ms, 2 * ms}},
		"another script":       {11, 1, "+OK\r\n", []int{0, 1, 2}, []time.Duration{0, ms, 2 * ms}},
	} {
		t.Run(name, func(t *testing.T) {
			inStill(t, func(t *testing.T, s *still) {
				var told []string
				s.answer = func(calls int, run check.Run) string {
					if calls != test.call {
						return ""
					}
					for _, i := range test.who {
						told = append(told, run.Round[i].ID)
					}
					return test.answer
				}
				defer s.waits(t, test.waiters, "k")()
				time.Sleep(6 * time.Second)
				at := s.rounds()[0][0].at
				asked := s.askedBetween(at, at+time.Second)
				if n := len(asked); n != 8+len(told) {
					t.Errorf("%d waiters have asked by themselves, want %d, and 8 that nobody has told to", n, len(told))
				}
				for i, id := range told {
					if got := asked[id]; len(got) != 1 || got[0]-at != test.want[i] {
						t.Errorf("waiter %d of the round at %v has asked at %v, want %v later", i, at, got, test.want[i])
					}
				}
			})
		})
	}
}

// A call that fails ends the calls of its round, and the next round comes soon, for all of them. If it has failed because the
// server takes only keys of one slot together, later calls are for such keys.
func TestRoundsFail(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		keys []string
		fail func(calls int, run check.Run) bool
		text string
		each []int // how many calls the first rounds have
	}{
		"once": {[]string{"k"}, func(calls int, _ check.Run) bool { return calls == 1 }, "-LOADING not yet\r\n", []int{1, 2, 2}},
		"for keys of several slots": {[]string{"k", "{k}", "m", "{m}1", "{m}2"}, func(_ int, run check.Run) bool {
			return slices.ContainsFunc(run.Set.Keys, func(key string) bool { // behind a prefix the tags alone count
				return slot.Of(key) != slot.Of(run.Set.Keys[0]) || slot.IsTagged(key) != slot.IsTagged(run.Set.Keys[0])
			})
		}, "-CROSSSLOT Keys in request don't hash to the same slot\r\n", []int{1, 4, 4}},
	} {
		t.Run(name, func(t *testing.T) {
			inStill(t, func(t *testing.T, s *still) {
				s.answer = func(calls int, run check.Run) string {
					if test.fail(calls, run) {
						return test.text
					}
					return ""
				}
				defer s.waits(t, 210, test.keys...)()
				time.Sleep(20 * time.Second)
				rounds := s.rounds()
				for i, n := range test.each {
					if got := len(rounds[i]); got != n {
						t.Errorf("round %d has %d calls, want %d", i+1, got, n)
					}
				}
				if soon := rounds[1][0].at - rounds[0][0].at; soon != time.Second {
					t.Errorf("the next round is %v after the one that failed, want a second", soon)
				}
				if later := rounds[2][0].at - rounds[1][0].at; later < 4*time.Second {
					t.Errorf("another round is %v later, want 4 s at least", later)
				}
			})
		})
	}
}

// While a call is under way no other one is for the same waiters. Its answer is not for those that have asked by themselves
// meanwhile.
func TestRoundsTakeLong(t *testing.T) {
	inStill(t, func(t *testing.T, s *still) {
		const waiters, takes, alone = 30, 6 * time.Second, 8
		var first sync.Once
		s.rdb.AddHook(check.Around{Send: func(cmds []redis.Cmder, send func([]redis.Cmder) error) error {
			err := send(cmds)
			if check.Among(cmds, "again") {
				first.Do(func() { time.Sleep(takes) })
			}
			return err
		}})
		s.answer = func(calls int, run check.Run) string {
			if calls > 1 {
				return ""
			}
			var all []int
			for i := range run.Round {
				all = append(all, i+1, 0)
			}
			return toAsk(all...)
		}
		defer s.waits(t, waiters, "k")()
		time.Sleep(20 * time.Second)
		rounds := s.rounds()
		at, ids := rounds[0][0].at, rounds[0][0].ids
		if len(ids) != waiters-alone || rounds[1][0].at < at+takes {
			t.Errorf("another call was made after %v", rounds[1][0].at-at)
		}
		meanwhile, then := s.askedBetween(at, at+takes), s.askedBetween(at+takes, rounds[1][0].at)
		for _, id := range ids {
			if len(meanwhile[id]) != 1 || len(then[id]) > 0 {
				t.Errorf("waiter %d has asked by itself at %v and %v, want once while the call at %v was under way",
					s.places[id], meanwhile[id], then[id], at)
			}
		}
		if n := len(rounds[1][0].ids); n != waiters-alone {
			t.Errorf("the next call is for %d waiters, want %d", n, waiters-alone)
		}
	})
}

// A waiter whose request has failed, and that sits in no round until it is answered, takes nobody else out of the rounds.
func TestRoundsAfterFaults(t *testing.T) {
	inStill(t, func(t *testing.T, s *still) {
		defer s.waits(t, 30, "k")()
		time.Sleep(time.Second)
		s.refuse(6 * time.Second)
		time.Sleep(10 * time.Second)
		s.forget()
		time.Sleep(20 * time.Second)
		s.wantAnswers(t)
		for _, round := range s.rounds() {
			if n := len(round[0].ids); n != 22 {
				t.Errorf("a call is for %d waiters, want all but the 8 that ask by themselves", n)
			}
		}
	})
}

// A round passes over waiters that have asked just before, and the next one comes all the same. When nobody waits there is none.
// They begin anew with the next waiter.
func TestRoundsBeginAnew(t *testing.T) {
	inStill(t, func(t *testing.T, s *still) {
		for range 2 {
			leave := s.waits(t, 10, "k")
			time.Sleep(3900 * time.Millisecond)
			stay := s.waits(t, 1, "k")
			leave()
			time.Sleep(20 * time.Second)
			s.wantAnswers(t)
			if n := len(s.rounds()); n > 0 {
				t.Errorf("%d calls were made, want none: one waiter asks by itself", n)
			}
			stay()
			time.Sleep(20 * time.Second)
			s.forget()
		}
	})
}

// A round looks when leases end of which all waiters have heard before it. A little later the first in line asks. If it is not
// answered soon the next one does; but nobody does behind a waiter that another one keeps out, which is alive.
func TestRoundsLookForEndings(t *testing.T) {
	t.Parallel()
	const end, soon, ms = 7 * time.Second, 100 * time.Millisecond, time.Millisecond
	for name, test := range map[string]struct {
		over func(place int64) string
		want []time.Duration // when they ask at the latest, after the end
	}{
		"not answered": {func(int64) string { return "" }, []time.Duration{13 * ms, 24 * ms}},
		"kept out":     {func(place int64) string { return inPlace(place, "queue", -ms) }, []time.Duration{13 * ms}},
	} {
		t.Run(name, func(t *testing.T) {
			inStill(t, func(t *testing.T, s *still) {
				s.leases, s.over = map[string]time.Duration{"b": end}, test.over
				defer s.waits(t, 20, "a")()
				time.Sleep(time.Second)
				defer s.waits(t, 2, "b")() // others have to ask first in the first round
				time.Sleep(6500 * ms)
				var asked []time.Duration
				for _, times := range s.askedBetween(end, end+soon) {
					asked = append(asked, times...)
				}
				slices.Sort(asked)
				if len(asked) != len(test.want) {
					t.Fatalf("waiters have asked at %v, want %d that do", asked, len(test.want))
				}
				for i, at := range asked {
					if at-end > test.want[i] {
						t.Errorf("waiter %d has asked %v after the end, want %v at most", i, at-end, test.want[i])
					}
				}
			})
		})
	}
}

// A waiter that cannot be told of its turn asks every few seconds, also if it does not know when a lease ends.
func TestWaiterIsNotTold(t *testing.T) {
	t.Parallel()
	s := newStill(t)
	defer s.client.Close()
	s.behind, s.Subscribe = true, func(int, string) string { return "" }
	leave := s.waits(t, 1, "k")
	time.Sleep(200 * time.Millisecond)
	leave()
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.first); n > 3 {
		t.Errorf("it has asked %d times at once", n)
	}
}
