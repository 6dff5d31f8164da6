package line_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/listen"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A target is a waiter to whom messages are forged: by somebody who hears its channel, so that its name is known, and who
// may publish there.
type target struct {
	channel, name string
	id            string // what only its entry says, and the grant
}

// targetAt reads the only entry in the line of a key.
func targetAt(t *testing.T, rdb redis.UniversalClient, key string) target {
	t.Helper()
	entry := check.Must[[]string](t)(rdb.ZRange(t.Context(), "redislock:line:{"+key+"}", 0, 0).Result())[0]
	id, _, _ := strings.Cut(entry, "|")
	channels := check.Must[[]string](t)(rdb.PubSubChannels(t.Context(), "redislock:wake:*").Result())
	if len(channels) != 1 {
		t.Fatalf("got the channels %q, want one", channels)
	}
	return target{channels[0], id[:listen.NameLength], id}
}

// forged returns a message of every form: as it should be, but for what the forger cannot know, and spoiled.
func (o target) forged(now time.Time) []string {
	guess := o.name + "AAAAAAAAAAAAAA"
	messages := []string{
		"", "|", "x", "w", "w|", "w|" + o.name, "w|" + guess, "w|" + o.name + "|1", "w|AAAAAAAA",
		"h|" + o.name, "h|" + o.name + "|", "h|" + o.name + "|x", "h|" + o.name + "|1|2",
		"z|" + o.name + "|1", strings.Repeat("|", 1000), strings.Repeat("x", 100_000), "g|" + strings.Repeat("1", 100_000),
	}
	for _, ms := range []string{"-1", "0", "1", "9999", "99999999999999", "99999999999999999999"} {
		messages = append(messages, "h|"+o.name+"|"+ms, "g|AAAAAAAA|1|1|"+o.name+"|"+ms)
	}
	for _, id := range []string{o.name, guess, "", strings.ToLower(o.id), o.id + "A", o.id[:len(o.id)-1]} {
		for _, at := range []time.Time{now, now.Add(-time.Hour), now.Add(time.Hour)} {
			for _, number := range []int64{0, 7, at.UnixMicro()} {
				grant := fmt.Sprintf("g|%s|%d|%d", id, at.UnixMicro(), number)
				messages = append(messages, grant, grant+"|"+o.name+"|99999999999", grant+"|"+o.name+"|0")
			}
		}
		messages = append(messages, "g|"+id, "g|"+id+"|x|y", "g|"+id+"||")
	}
	return messages
}

// forgeries are waiters of all modes.
var forgeries = map[string]struct {
	write, read []string
	fenced      bool
}{
	"a writer": {write: []string{"a"}}, "a fenced writer": {write: []string{"a"}, fenced: true}, "of a set": {write: []string{"a", "b", "c"}},
	"a reader": {read: []string{"a"}}, "a fenced reader": {read: []string{"a"}, fenced: true}, "mixed": {write: []string{"a"}, read: []string{"b", "c"}},
}

// forge has somebody hold keys for a ttl, and somebody else wait for them. It calls fn with what comes of that, with the
// requests that are sent, and with the waiter; then it returns when the waiter had its lock.
func forge(t *testing.T, w *world.World, mode string, ttl time.Duration, fn func(turns <-chan world.Turn, sent *atomic.Int64, at target)) time.Time {
	t.Helper()
	f := forgeries[mode]
	held := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a", "b", "c"), ttl, nil))
	turns := make(chan world.Turn, 1)
	var had time.Time
	sent := check.Count(w.RDB, "evalsha")
	go func() {
		lock, err := w.Client.ObtainSet(t.Context(), redislock.Set{Write: w.Keys(f.write...), Read: w.Keys(f.read...)}, time.Minute,
			&redislock.Options{Queue: true, Fenced: f.fenced})
		had = time.Now()
		turns <- world.Turn{Lock: lock, Err: err}
	}()
	w.InLine(t, w.Key("a"), 1)
	fn(turns, sent, targetAt(t, w.RDB, w.Key("a")))
	turn := <-turns
	check.NoError(t, turn.Err)
	check.NoError(t, turn.Lock.Release(t.Context()))
	_ = held.Release(t.Context()) // of what is left of it
	return had
}

// everyMode runs fn in virtual time for waiters of every mode, with a Redis client of the forger's own.
func everyMode(t *testing.T, fn func(t *testing.T, w *world.World, forger *redis.Client, mode string)) {
	t.Helper()
	t.Parallel()
	for mode := range forgeries {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
				fn(t, w, mini.Client(t), mode)
			})
		})
	}
}

// A forged message costs its waiter one request at most, and never lets it have a lock that somebody else holds.
func TestQueueForged(t *testing.T) {
	everyMode(t, func(t *testing.T, w *world.World, forger *redis.Client, mode string) {
		began := time.Now()
		const ttl = 10 * time.Second
		had := forge(t, w, mode, ttl, func(turns <-chan world.Turn, sent *atomic.Int64, at target) {
			for _, message := range at.forged(time.Now()) {
				before := sent.Load()
				check.NoError(t, forger.Publish(t.Context(), at.channel, message).Err())
				time.Sleep(5 * time.Millisecond) // no lease ends meanwhile, and no round is due
				synctest.Wait()
				if n := sent.Load() - before; n > 1 {
					t.Errorf("%.80q costs %d requests, want one at most", message, n)
				}
				if len(turns) > 0 {
					t.Fatalf("%.80q gave it a lock that somebody else holds", message)
				}
			}
		})
		if late := had.Sub(began) - ttl; late > 50*time.Millisecond {
			t.Errorf("after all that it had the lock %v after the lease before it, want no later than without", late)
		}
	})
}

// After a forged message a waiter goes on when the lease before it is over, no later than without one. Each message is a scene of
// its own, for two of the modes.
func TestQueueForgedSleepsNoLonger(t *testing.T) {
	everyMode(t, func(t *testing.T, w *world.World, forger *redis.Client, mode string) {
		const ttl, each = 2 * time.Second, 3
		modes := slices.Sorted(maps.Keys(forgeries))
		for i, n := slices.Index(modes, mode)%each, each; i < n; i += each {
			began, message := time.Now(), ""
			had := forge(t, w, mode, ttl, func(_ <-chan world.Turn, _ *atomic.Int64, at target) {
				time.Sleep(ttl / 2)
				all := at.forged(time.Now())
				n, message = len(all), all[i]
				check.NoError(t, forger.Publish(t.Context(), at.channel, message).Err())
			})
			if late := had.Sub(began) - ttl; late > 10*time.Millisecond {
				t.Errorf("after %.80q it had the lock %v after the lease before it", message, late)
			}
		}
	})
}

// The secret of a waiter is told once. If the waiter does not believe that grant, because it is older than the latest answer,
// whoever has heard it can send others: they cost a request each.
func TestQueueForgedWithTheSecret(t *testing.T) {
	everyMode(t, func(t *testing.T, w *world.World, forger *redis.Client, mode string) {
		forge(t, w, mode, 10*time.Second, func(turns <-chan world.Turn, sent *atomic.Int64, at target) {
			for _, moment := range []time.Time{time.Now().Add(-time.Minute), time.Now(), time.Now().Add(time.Second), time.Now()} {
				before := sent.Load()
				message := fmt.Sprintf("g|%s|%d|7", at.id, moment.UnixMicro())
				check.NoError(t, forger.Publish(t.Context(), at.channel, message).Err())
				time.Sleep(5 * time.Millisecond)
				synctest.Wait()
				if n := sent.Load() - before; n != 1 || len(turns) > 0 {
					t.Fatalf("got %d requests and %d locks, want that it asks once, and has none", n, len(turns))
				}
			}
		})
	})
}

// The same on servers: a waiter that is lied to has the lock after the holder.
func TestQueueForgedOnServers(t *testing.T) {
	onServers(t, func(t *testing.T, s *redistest.Server) {
		w := world.New(t, s)
		holder := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a"), world.Long, nil))
		turns := make(chan world.Turn, 1)
		w.Wait(t.Context(), turns, "lied to", w.Keys("a"), nil)
		w.InLine(t, w.Key("a"), 1)
		at := targetAt(t, w.RDB, w.Key("a"))
		for _, message := range at.forged(time.Now()) {
			check.NoError(t, w.RDB.Publish(t.Context(), at.channel, message).Err())
		}
		world.WantNobody(t, turns)
		check.NoError(t, holder.Release(t.Context()))
		world.WantTurn(t, turns, "lied to")
	})
}
