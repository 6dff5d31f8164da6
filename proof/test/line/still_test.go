package line_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A still is a server where many waiters of one Client stand in line, and nothing moves. It notes what they send.
type still struct {
	world.FakeServer
	rdb    *redis.Client
	client *redislock.Client
	began  time.Time

	answer func(calls int, run check.Run) string // of a round; nil or empty: all stand where they stood
	behind bool                                  // somebody waits in front of those who do not stand in line yet

	leases map[string]time.Duration // when those of some keys end
	over   func(place int64) string // what a waiter is answered after that

	mu               sync.Mutex
	refuses, answers time.Duration    // from when to when it refuses those who ask by themselves
	first            []time.Duration  // when somebody has asked who does not stand in line yet
	places           map[string]int64 // by waiter
	asked            map[string][]time.Duration
	calls            []stillCall
}

// A stillCall is a call for waiters that stand in line.
type stillCall struct {
	at   time.Duration
	ids  []string
	keys []string // the first key of each of them
}

func newStill(t *testing.T) *still {
	t.Helper()
	s := &still{began: time.Now(), places: make(map[string]int64), asked: make(map[string][]time.Duration)}
	s.Script = s.run
	s.rdb = s.Client(t)
	s.client = redislock.New(s.rdb)
	return s
}

// inStill runs fn in a bubble.
func inStill(t *testing.T, fn func(t *testing.T, s *still)) {
	t.Helper()
	t.Parallel()
	world.Bubble(t, func(t *testing.T, _ *world.World, _ *redistest.Mini, _ *world.Journal) {
		s := newStill(t)
		defer s.client.Close()
		fn(t, s)
	})
}

// waits has so many more wait, each for one of the keys, until leave is called.
func (s *still) waits(t *testing.T, n int, keys ...string) (leave func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	turns := make(chan world.Turn, n)
	for i := range n {
		(&world.World{Client: s.client}).Wait(ctx, turns, fmt.Sprint(i), keys[i%len(keys):i%len(keys)+1], nil)
	}
	return func() {
		cancel()
		for range n {
			<-turns
		}
	}
}

// run answers a script.
func (s *still) run(run check.Run) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := time.Since(s.began)
	switch {
	case world.AsksFirst(run):
		s.first = append(s.first, at)
		if s.behind {
			return strings.Replace(strings.Replace(world.HeldBySomebody, "write", "queue", 1), "60000", "-1", 1)
		}
		return world.HeldBySomebody
	case run.Of("release"):
		id, _ := run.Waiter()
		delete(s.asked, id)
	case len(run.Batch) > 0:
		return fmt.Sprintf("*%d\r\n", len(run.Batch)) + strings.Repeat(":0\r\n", len(run.Batch))
	case run.Of("again"):
		call := stillCall{at: at}
		for _, w := range run.Round {
			call.ids = append(call.ids, w.ID)
			call.keys = append(call.keys, run.Set.Keys[w.Keys[0]])
			if w.Place.Number() != s.places[w.ID] {
				return "-ERR it does not stand there\r\n"
			}
		}
		s.calls = append(s.calls, call)
		if s.answer != nil {
			if text := s.answer(len(s.calls), run); text != "" {
				return text
			}
		}
		return toAsk()
	case world.StandsInLine(run):
		if at >= s.refuses && at < s.answers {
			return "-LOADING not yet\r\n"
		}
		id, _ := run.Waiter()
		s.asked[id] = append(s.asked[id], at)
		if s.places[id] == 0 {
			s.places[id] = int64(len(s.places) + 1)
		}
		end, ends := s.leases[run.Set.Keys[0]]
		if !ends {
			end = at + time.Minute
		} else if at >= end {
			return s.over(s.places[id])
		}
		return inPlace(s.places[id], "write", end-at)
	}
	return ":1\r\n"
}

// inPlace is the answer to a waiter that stands at this place and is heard: what is in its way, and for how long.
func inPlace(place int64, mode string, left time.Duration) string {
	text := strings.Replace(world.InPlace(1, 1), ":7\r\n", fmt.Sprintf(":%d\r\n", place), 1)
	text = strings.Replace(text, "write", mode, 1)
	return strings.Replace(text, ":60000\r\n", fmt.Sprintf(":%d\r\n", left.Milliseconds()), 1)
}

// toAsk is the answer to a round: which of its waiters have to ask, from 1, and in how many milliseconds.
func toAsk(asks ...int) string {
	text := fmt.Sprintf("*%d\r\n:1000\r\n", 1+len(asks))
	for _, n := range asks {
		text += fmt.Sprintf(":%d\r\n", n)
	}
	return text
}

// askedBetween returns when which waiters have asked by themselves.
func (s *still) askedBetween(from, till time.Duration) map[string][]time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := make(map[string][]time.Duration)
	for id, times := range s.asked {
		for _, at := range times {
			if at >= from && at < till {
				asked[id] = append(asked[id], at)
			}
		}
	}
	return asked
}

// rounds returns the calls that were made at one time, for each of these times.
func (s *still) rounds() (rounds [][]stillCall) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, call := range s.calls {
		if i == 0 || call.at != s.calls[i-1].at {
			rounds = append(rounds, nil)
		}
		rounds[len(rounds)-1] = append(rounds[len(rounds)-1], call)
	}
	return rounds
}

// refuse has those refused for some time who ask by themselves.
func (s *still) refuse(during time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuses = time.Since(s.began)
	s.answers = s.refuses + during
}

// forget forgets what was sent so far.
func (s *still) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.asked)
	s.calls = nil
}

// wantAnswers checks that no waiter is without an answer for longer than a waiter may be, from the first one that it has.
func (s *still) wantAnswers(t *testing.T) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	answered := make(map[string][]time.Duration)
	for id, times := range s.asked {
		answered[id] = slices.Clone(times)
	}
	for _, call := range s.calls {
		for _, id := range call.ids {
			if len(answered[id]) > 0 { // it still waits
				answered[id] = append(answered[id], call.at)
			}
		}
	}
	for id, times := range answered {
		times = append(times, time.Since(s.began))
		slices.Sort(times)
		for i, at := range times[1:] {
			if gap := at - times[i]; gap > proto.AskAgain {
				t.Fatalf("waiter %d is without an answer from %v to %v", s.places[id], times[i], at)
			}
		}
	}
}
