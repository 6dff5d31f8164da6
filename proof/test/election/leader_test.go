package election_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/election"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

func TestLeader(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		if term := leader(t, w); term != (election.Term{}) || term.String() != "nobody leads" {
			t.Errorf("got %v before anybody leads", term)
		}
		before := serverTime(t, w)
		first := start(t, candidate(w, "a", world.Long)).elected(t)
		after := serverTime(t, w)
		got := leader(t, w)
		want := election.Term{Led: true, ID: first.id, Metadata: "a", Fence: first.number, Since: got.Since}
		if got != want {
			t.Errorf("got %v, want %v", got, want)
		}
		if got.Since.Before(before) || got.Since.After(after) {
			t.Errorf("it leads since %v, want %v to %v, by the clock of the server", got.Since, before, after)
		}

		r := start(t, candidate(w, "a", world.Long))
		inLine(t, w, 1)
		before = serverTime(t, w)
		first.finish <- nil
		second := r.elected(t)
		after = serverTime(t, w)
		got = leader(t, w)
		if got.ID == first.id || got.ID != second.id || got.Fence != second.number || got.Metadata != "a" {
			t.Errorf("got %v, want id %s and number %d", got, second.id, second.number)
		}
		if got.Since.Before(before) || got.Since.After(after) {
			t.Errorf("the next one leads since %v, want %v to %v", got.Since, before, after)
		}
		if text := got.String(); !strings.HasPrefix(text, "a leads since 20") || !strings.Contains(text, second.id) {
			t.Errorf("got %q", text)
		}
		second.finish <- nil
		check.NoError(t, next(t, r.ended, "the end of Run"))
		if term := leader(t, w); term != (election.Term{}) {
			t.Errorf("got %v when nobody leads any more", term)
		}
	})
}

// serverTime is the time by the clock of the server, to the µs.
func serverTime(t *testing.T, w *world.World) time.Time {
	t.Helper()
	return check.Must[time.Time](t)(w.RDB.Time(t.Context()).Result())
}

// Whoever else holds the key leads, as far as anybody can tell; who reads it does not.
func TestLeaderOfOthers(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("k"), world.Long, nil))
		if got := leader(t, w); got != (election.Term{Led: true}) || !strings.HasPrefix(got.String(), "somebody leads since") {
			t.Errorf("got %v, want somebody of whom nothing is known", got)
		}
		check.NoError(t, lock.Release(t.Context()))
		check.Must[*redislock.Lock](t)(w.Client.ObtainRead(t.Context(), w.Keys("k"), world.Long, nil))
		if got := leader(t, w); got.Led {
			t.Errorf("got %v of a reader", got)
		}
	})
}

// A clock that is set back makes Since too late by as much at most, and numbers grow all the same.
func TestLeaderSinceClockSetBack(t *testing.T) {
	t.Parallel()
	s, clock := redistest.StartSkewed(t, redistest.Redis)
	w := world.New(t, s)
	first := start(t, candidate(w, "a", world.Long)).elected(t)
	before := leader(t, w)
	const back = time.Hour
	clock.Shift(-back)
	first.finish <- nil
	r := start(t, candidate(w, "b", world.Long))
	second := r.elected(t)
	after := leader(t, w)
	if second.number != first.number+1 || !after.Since.Equal(before.Since.Add(time.Microsecond)) {
		t.Errorf("got number %d after %d, and since %v after %v", second.number, first.number, after.Since, before.Since)
	}
	if now := serverTime(t, w); after.Since.Sub(now) > back {
		t.Errorf("since %v is more than %v ahead of the server, %v", after.Since, back, now)
	}
}

// A raised number is taken for a moment, which it may not be.
func TestLeaderSinceRaised(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		const hour = int64(time.Hour / time.Microsecond)
		check.NoError(t, election.Elect(t.Context(), w.Client, w.Key("k"), world.Long, func(ctx context.Context) error {
			lock := redislock.FromContext(ctx)
			check.NoError(t, lock.RaiseFence(ctx, lock.Fence()+hour))
			if got := leader(t, w); got.Fence != lock.Fence() || time.Until(got.Since) < 50*time.Minute {
				t.Errorf("got %v, want number %d", got, lock.Fence())
			}
			return nil
		}))
	})
}

func TestLeaderRefuses(t *testing.T) {
	t.Parallel()
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	t.Cleanup(func() { _ = rdb.Close() })
	rdb.AddHook(check.Around{Instead: func(cmd redis.Cmder) bool { t.Errorf("it sends %v", cmd); return false }})
	client := world.NewClient(t, rdb)
	for name, c := range map[string]struct {
		key   string
		nodes []*redislock.Client
		want  string
	}{
		"no Client":      {"k", nil, "there is no Client to ask"},
		"a Client twice": {"k", []*redislock.Client{client, client}, "nodes[1] is nodes[0] once more"},
		"nil":            {"k", []*redislock.Client{client, nil}, "nodes[1] is nil"},
		"no key":         {"", []*redislock.Client{client}, "invalid keys: the key is empty"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := election.Leader(t.Context(), c.key, c.nodes...); err == nil || err.Error() != "election: leader: "+c.want {
				t.Errorf("Leader: got %v, want %q", err, c.want)
			}
			n := 0
			for _, err := range election.Follow(t.Context(), c.key, 0, c.nodes...) {
				if n++; err == nil || err.Error() != "election: follow: "+c.want {
					t.Errorf("Follow: got %v, want %q", err, c.want)
				}
			}
			if n != 1 {
				t.Errorf("Follow has told %d things, want the error", n)
			}
		})
	}
	for _, err := range election.Follow(t.Context(), "k", -1, client) {
		if err == nil || err.Error() != "election: follow: invalid interval: -1ns" {
			t.Errorf("got %v of a negative interval", err)
		}
	}
}

// What a server says that cannot be asked is the error.
func TestLeaderServerAway(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, redistest.Redis)
	w := world.New(t, s)
	s.Pause()
	defer s.Resume()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := election.Leader(ctx, w.Key("k"), w.Client)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.HasPrefix(err.Error(), "election: leader of ") {
		t.Errorf("got %v, want the end of the context", err)
	}
}
