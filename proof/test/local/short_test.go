package local_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A Client without hooks has most of its requests go a short way. The tests here say when that must not be.

// A waiter whose messages are heard already enters its line with its first request.
func TestShortWayEntersWhereMessagesAreHeard(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		client := world.NewClient(t, s.RDB)
		ctx, cancel := context.WithCancel(t.Context())
		var sent []int64
		for i := range 3 {
			s.keys = s.Keys(fmt.Sprint("k", i))
			s.obtain(s.other, options("holder"))
			before := s.sent.Load()
			s.waits(ctx, client, options("waiter"))
			sent = append(sent, s.sent.Load()-before)
			s.wantLine("waiter")
		}
		if want := []int64{1, 1}; !slices.Equal(sent[1:], want) { // with the first one it begins to hear
			t.Errorf("the waiters have sent %d scripts, want %d in the end", sent, want)
		}
		cancel()
		for range 3 {
			check.Is(t, s.ends("waiter"), context.Canceled)
		}
	})
}

// While a lock of the Client has the keys and others poll for them, another one that polls need not ask to be refused.
func TestShortWayIsRefusedHere(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		client := world.NewClient(t, s.RDB)
		lock := s.obtain(client, polls("first"))
		s.waits(t.Context(), client, polls("second"))
		check.NoError(t, lock.Release(t.Context()))
		lock = s.wants("second")
		var sent []int64
		for _, who := range []string{"third", "fourth"} {
			before := s.sent.Load()
			s.waits(t.Context(), client, polls(who))
			sent = append(sent, s.sent.Load()-before)
		}
		if want := []int64{1, 0}; !slices.Equal(sent, want) { // the third one asks, because nobody polls
			t.Errorf("they have sent %d scripts, want %d", sent, want)
		}
		for _, who := range []string{"third", "fourth"} {
			check.NoError(t, lock.Release(t.Context()))
			lock = s.wants(who)
		}
		check.NoError(t, lock.Release(t.Context()))
	})
}

// A lock that has waited in line is known in its line until its Release, which goes the longer way to say so there: whoever
// queues after that waits for nobody.
func TestShortWayLeavesNoHolderBehind(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		client := world.NewClient(t, s.RDB)
		holder := s.obtain(s.other, options("holder"))
		s.waits(t.Context(), client, options("waiter"))
		check.NoError(t, holder.Release(t.Context()))
		lock := s.wants("waiter")
		synctest.Wait()
		check.NoError(t, lock.Release(t.Context()))
		began := time.Now()
		lock = s.obtain(client, options("next"))
		if took := time.Since(began); took != 0 {
			t.Errorf("the next one has waited %v", took)
		}
		check.NoError(t, lock.Release(t.Context()))
		s.WantNoTrace(t, s.keys...)
	})
}

// A Release of a set with keys to read carries nobody: it gives only keys to write. The next one asks.
func TestSetWithReadersIsGivenToNobody(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		set := redislock.Set{Write: s.Keys("k"), Read: s.Keys("r")}
		var mu sync.Mutex
		carries := make(map[bool]int)
		s.RDB.AddHook(check.Around{Before: func(cmd redis.Cmder) {
			if run := check.RunIn(cmd); run.Release != nil {
				mu.Lock()
				defer mu.Unlock()
				carries[run.Next != nil]++
			}
		}})
		for _, set.Read = range [][]string{s.Keys("r"), nil} {
			obtain := func() *redislock.Lock {
				return check.Must[*redislock.Lock](t)(s.Client.ObtainSet(t.Context(), set, world.Long, options("")))
			}
			check.NoError(t, obtain().Release(t.Context())) // now the server knows the script
			mu.Lock()
			clear(carries)
			mu.Unlock()
			lock, next := obtain(), make(chan *redislock.Lock)
			go func() { next <- obtain() }()
			synctest.Wait()
			check.NoError(t, lock.Release(t.Context()))
			check.NoError(t, (<-next).Release(t.Context()))
			if got := carries[true]; got != 1-len(set.Read) || carries[false] == 0 {
				t.Errorf("with %d keys to read %d releases have carried somebody, of %d", len(set.Read), got, got+carries[false])
			}
		}
	})
}

// A Redis client of which nobody knows how often it sends may have sent a Release twice if that took long. If such a Release
// has given its keys to somebody else, the one that it carries asks, and closes it: its copy must not give the keys once more.
func TestAsksAfterAReleaseThatMayComeTwice(t *testing.T) {
	for took, want := range map[time.Duration]bool{4 * time.Millisecond: false, 5 * time.Millisecond: true} {
		t.Run(took.String(), func(t *testing.T) {
			play(t, func(t *testing.T, s *scene) {
				client := world.NewClient(t, world.Bare{Scripter: s.RDB})
				ctx, cancel := context.WithCancel(t.Context())
				lock := s.obtain(client, nil)
				s.waits(ctx, client, polls("polls"))
				s.waits(t.Context(), s.other, options("in line"))
				var mu sync.Mutex
				var closes []bool
				s.RDB.AddHook(check.Around{Before: func(cmd redis.Cmder) {
					switch run := check.RunIn(cmd); {
					case run.Release != nil && run.Next != nil:
						time.Sleep(took)
					case run.Obtain != nil:
						mu.Lock()
						defer mu.Unlock()
						closes = append(closes, run.Closes())
					}
				}})
				check.NoError(t, lock.Release(t.Context()))
				lock = s.wants("in line")
				synctest.Wait()
				mu.Lock()
				if len(closes) == 0 || closes[0] != want {
					t.Errorf("got %v of what it asks, want the first to close the Release: %t", closes, want)
				}
				mu.Unlock()
				cancel()
				check.Is(t, s.ends("polls"), context.Canceled)
				check.NoError(t, lock.Release(t.Context()))
			})
		})
	}
}
