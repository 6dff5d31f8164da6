package line_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/slot"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A round passes over exactly those who have asked by themselves less than an eighth of the longest time before it.
func TestRoundPassesOverTheFresh(t *testing.T) {
	inStill(t, func(t *testing.T, s *still) {
		for range 220 {
			defer s.waits(t, 1, "k")()
			time.Sleep(20 * time.Millisecond)
		}
		time.Sleep(time.Second)
		round := s.rounds()[0]
		at := round[0].at
		reached := s.askedBetween(at, at+time.Millisecond)
		for _, call := range round {
			for _, id := range call.ids {
				reached[id] = nil
			}
		}
		for id, times := range s.asked {
			since := at - times[0]
			if _, is := reached[id]; since > 0 && is != (since > proto.AskAgain/8) {
				t.Errorf("the round reaches a waiter that has asked %v before: %t", since, is)
			}
		}
	})
}

// The first round comes after the answer to the first waiter, however slow that is.
func TestRoundAfterASlowAnswer(t *testing.T) {
	inStill(t, func(t *testing.T, s *still) {
		s.rdb.AddHook(check.Around{Send: func(cmds []redis.Cmder, send func([]redis.Cmder) error) error {
			err := send(cmds)
			if check.Among(cmds, "rw") {
				time.Sleep(time.Second)
			}
			return err
		}})
		defer s.waits(t, 1, "k")()
		time.Sleep(20 * time.Second)
		for _, times := range s.askedBetween(0, time.Hour) {
			if len(times) < 2 || times[1]-times[0] < 4*time.Second {
				t.Errorf("it has asked at %v, want 4 s at least in between", times)
			}
		}
	})
}

// The latest answer says when a lease is over. Then the first in line asks, whichever came to its seat first, and the next one some
// time later if that is not answered.
func TestEndingIsForTheFirst(t *testing.T) {
	inStill(t, func(t *testing.T, s *still) {
		const ms, waiters = time.Millisecond, 5
		s.Script = func(run check.Run) string {
			if id, _ := run.Waiter(); world.StandsInLine(run) {
				s.mu.Lock()
				if s.places[id] == 0 {
					s.places[id] = int64(waiters - len(s.places)) // the last to come is the first in line
				}
				s.mu.Unlock()
			}
			return s.run(run)
		}
		s.leases, s.over = map[string]time.Duration{"k": 1000 * ms}, func(int64) string { return "" }
		defer s.waits(t, 2, "k")()
		time.Sleep(500 * ms)
		s.mu.Lock()
		s.leases["k"] = 2000 * ms // it was renewed
		s.mu.Unlock()
		for range waiters - 2 {
			defer s.waits(t, 1, "k")()
			time.Sleep(100 * ms)
		}
		time.Sleep(1300 * ms)
		type ask struct {
			at    time.Duration
			place int64
		}
		var asks []ask
		for id, times := range s.askedBetween(850*ms, 2100*ms) {
			for _, at := range times {
				asks = append(asks, ask{at, s.places[id]})
			}
		}
		slices.SortFunc(asks, func(a, b ask) int { return int(a.at - b.at) })
		if len(asks) < 2 {
			t.Fatalf("got %v, want that they ask one after the other", asks)
		}
		for i, a := range asks[:2] {
			if a.place != int64(i+1) || i == 0 && (a.at < 2007*ms || a.at > 2012*ms) || i > 0 && a.at-asks[i-1].at != 10*ms {
				t.Errorf("at %v the waiter at place %d asks as number %d, want them in their order, 10 ms apart", a.at, a.place, i+1)
			}
		}
	})
}

// A round asks for nobody who has left while an earlier call of it was under way.
func TestRoundWithoutThoseWhoLeft(t *testing.T) {
	inStill(t, func(t *testing.T, s *still) {
		const stay, goAway, inOneCall, alone = 205, 5, 192, 8
		underWay, goOn := make(chan struct{}), make(chan struct{})
		var first sync.Once
		s.rdb.AddHook(check.Around{Send: func(cmds []redis.Cmder, send func([]redis.Cmder) error) error {
			if check.Among(cmds, "again") {
				first.Do(func() {
					close(underWay)
					<-goOn
				})
			}
			return send(cmds)
		}})
		defer s.waits(t, stay, "k")()
		time.Sleep(10 * time.Millisecond)
		leave := s.waits(t, goAway, "k")
		<-underWay
		leave()
		close(goOn)
		synctest.Wait()
		var sizes []int
		for _, call := range s.calls {
			sizes = append(sizes, len(call.ids))
		}
		if want := []int{inOneCall, stay - alone - inOneCall}; !slices.Equal(sizes, want) {
			t.Errorf("the calls are for %v waiters, want %v", sizes, want)
		}
	})
}

// A waiter that a round has reached asks by itself, if no round reaches it again, before it counts as dead.
func TestWithoutFurtherRounds(t *testing.T) {
	inStill(t, func(t *testing.T, s *still) {
		const least, most = 8750 * time.Millisecond, 10 * time.Second
		var calls atomic.Int64
		s.rdb.AddHook(check.Around{Send: func(cmds []redis.Cmder, send func([]redis.Cmder) error) error {
			if check.Among(cmds, "again") && calls.Add(1) > 1 {
				time.Sleep(20 * time.Second)
			}
			return send(cmds)
		}})
		defer s.waits(t, 60, "k")()
		time.Sleep(16 * time.Second)
		round := s.rounds()[0][0]
		byThemselves := 0
		asked := s.askedBetween(round.at+1, time.Hour)
		for _, id := range round.ids {
			switch later := asked[id]; {
			case len(later) == 0:
				t.Errorf("waiter %d asks no more", s.places[id])
			case later[0]-round.at < least-100*time.Millisecond && later[0]-round.at < 4500*time.Millisecond: // in the next round
			case later[0]-round.at < least || later[0]-round.at > most:
				t.Errorf("waiter %d asks %v after the round, want %v to %v", s.places[id], later[0]-round.at, least, most)
			default:
				byThemselves++
			}
		}
		if byThemselves < 20 {
			t.Errorf("%d have asked by themselves, want most of them", byThemselves)
		}
	})
}

// If a round tells very many to ask they do so one after the other for some time, and the others at any time until then.
func TestVeryManyAsk(t *testing.T) {
	inStill(t, func(t *testing.T, s *still) {
		const inOrder, all = 2500, 2900
		told := make(map[string]int)
		s.answer = func(_ int, run check.Run) string {
			var all []int
			for i, w := range run.Round {
				told[w.ID] = len(told)
				all = append(all, i+1, 0)
			}
			return toAsk(all...)
		}
		defer s.waits(t, all, "k")()
		time.Sleep(8 * time.Second)
		at := s.rounds()[0][0].at
		for id, times := range s.askedBetween(at, time.Hour) {
			n, is := told[id]
			if got := times[0] - at; is && n < inOrder && got != time.Duration(n)*time.Millisecond || is && got >= inOrder*time.Millisecond {
				t.Errorf("the waiter that was told as number %d asks %v later", n, got)
			}
		}
	})
}

// Keys of which one has a tag that looks like the name of the other one are asked for apart, where keys of several slots must be.
func TestRoundsOfKeysThatLookAlike(t *testing.T) {
	inStill(t, func(t *testing.T, s *still) {
		s.answer = func(_ int, run check.Run) string {
			if slices.ContainsFunc(run.Set.Keys, func(key string) bool { return slot.Of(key) != slot.Of(run.Set.Keys[0]) }) {
				return "-CROSSSLOT Keys in request don't hash to the same slot\r\n"
			}
			return ""
		}
		defer s.waits(t, 30, "k", "{k=}")()
		time.Sleep(20 * time.Second)
		for i, round := range s.rounds() {
			if want := min(i+1, 2); len(round) != want {
				t.Errorf("round %d has %d calls, want %d", i+1, len(round), want)
			}
		}
	})
}

// A waiter that a round has confirmed is granted its keys by a message alone. Its lease counts from a moment by the clock of the
// server, as the round has found it.
func TestGrantAfterARound(t *testing.T) {
	t.Parallel()
	world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
		const waiters, later, soon = 20, 3 * time.Second, 2 * time.Millisecond
		key, rdb := w.Key("k"), mini.Client(t)
		holder := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), []string{key}, time.Hour, nil))
		calls, asks := make(chan time.Time, 100), new(atomic.Int64)
		rdb.AddHook(check.Around{After: func(cmd redis.Cmder) {
			switch run := check.RunIn(cmd); {
			case run.Of("again") && cmd.Err() == nil:
				calls <- time.Now()
			case run.Script != "":
				asks.Add(1)
			}
		}})
		ctx, cancel := context.WithCancel(t.Context())
		turns := make(chan world.Turn, waiters)
		other := &world.World{Client: world.NewClient(t, rdb)}
		for range waiters {
			other.Wait(ctx, turns, "waiter", []string{key}, nil)
			time.Sleep(time.Millisecond)
		}
		<-calls // in this round the first has asked by itself
		confirmed := <-calls
		time.Sleep(later)
		before := asks.Load()
		check.NoError(t, holder.Release(t.Context()))
		lock := world.WantTurn(t, turns, "waiter")[0]
		if n := asks.Load() - before; n != 0 {
			t.Errorf("it has asked %d times, want that it believes the message", n)
		}
		want := confirmed.Add(later - later/100).Add(clock.Window(world.Long))
		if got := lock.Deadline(); got.Sub(want).Abs() > soon {
			t.Errorf("got a deadline %v after the one that counts from the round", got.Sub(want))
		}
		cancel()
		for range waiters - 1 {
			<-turns
		}
		check.NoError(t, lock.Release(t.Context()))
	})
}
