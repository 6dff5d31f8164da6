package script_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/internal/slot"
)

const (
	longLease  = 10 * time.Minute
	shortLease = 4 * time.Second // of which the next waiter needs a message: it asks every 5 s
)

func refusedInLine(t *testing.T, err error) {
	t.Helper()
	if conflict, ok := errors.AsType[*redislock.ConflictError](err); !ok || conflict.Mode != redislock.ModeQueue {
		t.Fatalf("got error %v, want a conflict with who stands in line", err)
	}
}

// The first in line asks when the lease before it is over. A waiter that becomes the first because another
// caller's script has dropped a dead one gets a message which says when, or has the key at once.
func TestNextOfDeadHeadIsTold(t *testing.T) {
	t.Parallel()
	for name, dead := range map[string]fakeWaiter{"gone": {gone: true}, "silent": {gone: true, dead: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// line puts a dead writer in line for a key, and one behind it that lives.
			line := func(t *testing.T, s *fixture, key string) {
				t.Helper()
				head, next := dead, fakeWaiter{id: "next"}
				head.id, head.place, head.ttl, head.write = "head", 1, longLease, []string{key}
				next.place, next.ttl, next.write = 2, longLease, []string{key}
				s.enters(t, head, next)
			}
			t.Run("while readers hold the key", func(t *testing.T) {
				withFixture(t, func(t *testing.T, s *fixture) {
					keys := []string{s.key("k")}
					check.Must[*redislock.Lock](t)(s.client.ObtainRead(t.Context(), keys, shortLease, nil))
					line(t, s, keys[0])
					_, err := s.client.ObtainRead(t.Context(), keys, longLease, nil)
					refusedInLine(t, err)
					s.wantMessages(t, "h|next|…")
					s.wantLine(t, keys[0], "next")
				})
			})
			for name, obtain := range map[string]func(*fixture, context.Context, []string) error{
				"obtain": func(s *fixture, ctx context.Context, keys []string) error {
					_, err := s.client.Obtain(ctx, keys, longLease, nil)
					return err
				},
				"obtain to read": func(s *fixture, ctx context.Context, keys []string) error {
					_, err := s.client.ObtainRead(ctx, keys, longLease, nil)
					return err
				},
				"obtain with intent": func(s *fixture, ctx context.Context, keys []string) error {
					_, err := s.client.Obtain(ctx, keys, longLease, &redislock.Options{Intent: true})
					return err
				},
				"obtain a set": func(s *fixture, ctx context.Context, keys []string) error {
					_, err := s.client.Obtain(ctx, append(keys, s.key("other")), longLease, nil)
					return err
				},
			} {
				t.Run("while the key is free: "+name, func(t *testing.T) {
					withFixture(t, func(t *testing.T, s *fixture) {
						keys := []string{s.key("k")}
						line(t, s, keys[0])
						refusedInLine(t, obtain(s, t.Context(), keys))
						s.wantMessages(t, "g|next|…")
						s.wantLine(t, keys[0])
					})
				})
			}
			t.Run("by one who enters the line", func(t *testing.T) {
				withFixture(t, func(t *testing.T, s *fixture) {
					keys := []string{s.key("k")}
					line(t, s, keys[0])
					s.ask(t, fakeWaiter{id: "last", write: keys, ttl: longLease}.waiterOf(s, proto.Place{}))
					s.wantMessages(t, "g|next|…")
					s.wantLine(t, keys[0], "last")
				})
			})
			for name, writers := range map[string][]fakeWaiter{
				"by a reader who goes in":    nil,
				"by a reader who is refused": {{id: "writer", place: 3, ttl: longLease}},
			} {
				t.Run("and goes in with it: "+name, func(t *testing.T) {
					withFixture(t, func(t *testing.T, s *fixture) {
						keys := []string{s.key("k")}
						check.Must[*redislock.Lock](t)(s.client.ObtainRead(t.Context(), keys, longLease, nil))
						head := dead
						head.id, head.place, head.ttl, head.write = "head", 1, longLease, keys
						s.enters(t, head, fakeWaiter{id: "next", place: 2, ttl: longLease, read: keys})
						for _, writer := range writers {
							writer.write = keys
							s.enters(t, writer)
						}
						_, err := s.client.ObtainRead(t.Context(), keys, longLease, nil)
						if writers == nil {
							check.NoError(t, err)
						} else {
							refusedInLine(t, err)
						}
						s.wantMessages(t, "g|next|…")
					})
				})
			}
		})
	}
}

// A set that somebody dead waited for is left in every line: also in that of a key which the script
// does not free, because it was lost.
func TestNextOfDeadSetIsTold(t *testing.T) {
	t.Parallel()
	withFixture(t, func(t *testing.T, s *fixture) {
		a, b := s.key("a"), s.key("b")
		lock := check.Must[*redislock.Lock](t)(s.client.Obtain(t.Context(), []string{a, b}, longLease, nil))
		check.NoError(t, s.rdb.Del(t.Context(), b).Err())
		check.Must[*redislock.Lock](t)(s.client.ObtainRead(t.Context(), []string{b}, shortLease, nil))
		s.enters(t,
			fakeWaiter{id: "head", write: []string{a}, read: []string{b}, place: 1, ttl: longLease, gone: true},
			fakeWaiter{id: "next", write: []string{b}, place: 2, ttl: longLease})
		check.Is(t, lock.Release(t.Context()), redislock.ErrLockNotHeld)
		s.wantMessages(t, "h|next|…")
		s.wantLine(t, a)
		s.wantLine(t, b, "next")
	})
}

// A reader that releases, and gives up a place that it does not have any more, makes the lease of the
// key shorter: that of another reader ends sooner.
func TestReaderThatGivesUpTellsTheNext(t *testing.T) {
	t.Parallel()
	withFixture(t, func(t *testing.T, s *fixture) {
		keys := []string{s.key("k")}
		mine := check.Must[*redislock.Lock](t)(s.client.ObtainRead(t.Context(), keys, longLease, nil))
		check.Must[*redislock.Lock](t)(s.client.ObtainRead(t.Context(), keys, shortLease, nil))
		s.enters(t, fakeWaiter{id: "next", write: keys, place: 1, ttl: longLease})
		if got := s.givesUp(t, keys, mine.Token(), "nobody", unknown); got != int64(1) {
			t.Fatalf("got reply %v", got)
		}
		s.wantMessages(t, "h|next|…")
	})
}

// A reader that gives up when the lease before it is over, and before it has asked, leaves the key to the reader behind it, which
// nobody has told when that is.
func TestReaderThatGivesUpLeavesTheKey(t *testing.T) {
	t.Parallel()
	withFixture(t, func(t *testing.T, s *fixture) {
		keys := []string{s.key("k")}
		s.enters(t,
			fakeWaiter{id: "first", read: keys, place: 1, ttl: longLease},
			fakeWaiter{id: "next", read: keys, place: 2, ttl: longLease})
		s.givesUp(t, keys, "nobody", "first", proto.PlaceOf(1))
		s.wantMessages(t, "g|next|…")
		s.wantLine(t, keys[0])
	})
}

// A conversion begins a new lease, which may end sooner than the one that the next in line knows.
func TestConversionTellsTheNext(t *testing.T) {
	t.Parallel()
	for name, convert := range map[string]struct {
		obtain func(*fixture, context.Context, []string) (*redislock.Lock, error)
		turn   func(*redislock.Lock, context.Context) error
	}{
		"downgrade": {func(s *fixture, ctx context.Context, keys []string) (*redislock.Lock, error) {
			return s.client.Obtain(ctx, keys, longLease, nil)
		}, (*redislock.Lock).Downgrade},
		"upgrade": {func(s *fixture, ctx context.Context, keys []string) (*redislock.Lock, error) {
			return s.client.ObtainRead(ctx, keys, longLease, nil)
		}, (*redislock.Lock).Upgrade},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			withFixture(t, func(t *testing.T, s *fixture) {
				keys := []string{s.key("k"), s.key("l")}
				lock := check.Must[*redislock.Lock](t)(convert.obtain(s, t.Context(), keys))
				other := s.client.Attach(keys, lock.Token()) // goes on with the ttl of its own Refresh
				check.NoError(t, other.Refresh(t.Context(), shortLease))
				check.NoError(t, lock.Refresh(t.Context(), longLease))
				for i, key := range keys {
					s.enters(t, fakeWaiter{id: fmt.Sprint("next", i), write: []string{key}, place: 1, ttl: longLease})
				}
				check.NoError(t, convert.turn(other, t.Context()))
				messages := s.messages(t)
				if len(messages) != 2 || messages[0][:7] == messages[1][:7] || messages[0][:2] != "h|" || messages[1][:2] != "h|" {
					t.Fatalf("they got %q", messages)
				}
			})
		})
	}
}

// Somebody dead stands in a line that had nobody to be served, when a script sees it in another one:
// then all lines are looked at once more.
func TestDroppedSetFreesOtherLines(t *testing.T) {
	t.Parallel()
	withFixture(t, func(t *testing.T, s *fixture) {
		a, b := s.key("a"), s.key("b")
		s.enters(t,
			fakeWaiter{id: "dead", write: []string{b}, read: []string{a}, place: 1, ttl: longLease, gone: true},
			fakeWaiter{id: "leaver", write: []string{b}, read: []string{a}, place: 2, ttl: longLease},
			fakeWaiter{id: "next", write: []string{a}, place: 3, ttl: longLease})
		s.givesUp(t, []string{a, b}, "token-leaver|leaver", "leaver", proto.PlaceOf(2))
		s.wantMessages(t, "g|next|…")
		s.wantLine(t, a)
		s.wantLine(t, b)
	})
}

// A late request may have entered a waiter once more.
func TestLeavesALineAltogether(t *testing.T) {
	t.Parallel()
	withFixture(t, func(t *testing.T, s *fixture) {
		keys := []string{s.key("k")}
		check.Must[*redislock.Lock](t)(s.client.Obtain(t.Context(), keys, longLease, nil))
		twice := fakeWaiter{id: "twice", write: keys, place: 1, ttl: longLease}
		again := twice
		again.place, again.ttl = 3, shortLease
		s.enters(t, twice, again, fakeWaiter{id: "other", write: keys, place: 2, ttl: longLease})
		s.givesUp(t, keys, twice.value(), twice.id, unknown)
		s.wantLine(t, keys[0], "other")
	})
}

// What a token waits for under one id is not in its own way under another.
func TestTokenIsNotBehindItself(t *testing.T) {
	t.Parallel()
	withFixture(t, func(t *testing.T, s *fixture) {
		a, b := s.key("a"), s.key("b")
		holder := check.Must[*redislock.Lock](t)(s.client.Obtain(t.Context(), []string{a}, longLease, nil))
		first := fakeWaiter{id: "first", write: []string{b}, place: 1, ttl: longLease}
		s.enters(t, first, fakeWaiter{id: "other", write: []string{s.key("c")}, place: 1, ttl: longLease})
		// The same token waits for both keys; b alone is free, and its own earlier wait is before it.
		both := fakeWaiter{id: "first", write: []string{a, b}, place: 2, ttl: longLease}
		now := check.Must[time.Time](t)(s.rdb.Time(t.Context()).Result())
		entry := func(key string) string { return "again" + both.entry(s, key, now)[len("first"):] }
		for _, key := range both.write {
			check.NoError(t, s.rdb.Do(t.Context(), "zadd", slot.Beside("line", key), both.place, entry(key)).Err())
			check.NoError(t, s.rdb.Expire(t.Context(), slot.Beside("line", key), time.Hour).Err())
		}
		if got := s.release(t, []string{a, b}, holder.Token()); fmt.Sprint(got) != "[-1 2]" {
			t.Fatalf("got reply %v", got)
		}
		s.wantMessages(t, "g|again|…")
	})
}
