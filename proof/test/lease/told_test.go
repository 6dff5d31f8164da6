package lease_test

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A lock that is lost because no renewal was confirmed says why the last one has failed, if that is so; a renewal that was
// confirmed makes up for all before. Each failure is logged.
func TestLossSaysWhyRenewalsFailed(t *testing.T) {
	const ttl, refusal = 30 * time.Second, "LOADING Redis is loading the dataset in memory"
	const silent, refused = "no renewal was confirmed before the deadline", `: redislock: renew "a": ` + refusal
	for name, c := range map[string]struct {
		recovers bool   // before nothing is answered any more
		said     string // of the loss
	}{
		"refused":                       {false, silent + refused},
		"refused, then done, then hung": {true, silent},
	} {
		t.Run(name, func(t *testing.T) {
			world.Bubble(t, func(t *testing.T, _ *world.World, mini *redistest.Mini, j *world.Journal) {
				log := new(check.Log)
				g, client := newGate(t, mini, redislock.WithHooks(j.Hooks()), redislock.WithLogger(slog.New(log)))
				defer client.Close()
				lock := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{"a"}, ttl, world.Watched))
				time.Sleep(ttl / 3)
				synctest.Wait() // the first renewal was done
				mini.Miniredis().SetError(refusal)
				time.Sleep(ttl / 2)
				mini.Miniredis().SetError("")
				failed := len(log.At(slog.LevelInfo))
				if failed == 0 {
					t.Error("no failure was logged")
				}
				if c.recovers {
					before := lock.Deadline()
					for !lock.Deadline().After(before) {
						time.Sleep(time.Millisecond)
					}
					world.OnLease(g.rdb, func(bool, func() error) error { <-lock.Lost(); return errors.New("hung") })
				} else {
					mini.Miniredis().SetError(refusal)
				}
				<-lock.Lost()
				mini.Miniredis().SetError("")
				synctest.Wait()
				if err := j.Err("lost"); err == nil || !strings.HasSuffix(err.Error(), c.said) {
					t.Errorf("got error %v, want one that ends with %q", err, c.said)
				}
				for _, message := range log.At(slog.LevelInfo) {
					if message != "redislock: renewal failed, trying again" {
						t.Errorf("it is logged that %q", message)
					}
				}
				for _, err := range log.Attr("error")[:failed] {
					if want := strings.TrimPrefix(refused, ": "); fmt.Sprint(err) != want {
						t.Errorf("logged the error %v, want %s", err, want)
					}
				}
			})
		})
	}
}

// A renewal that is answered when the lock has ended is not told.
func TestRenewalAfterTheEnd(t *testing.T) {
	for name, c := range map[string]struct {
		end        func(t *testing.T, g *gate, lock *redislock.Lock)
		told, lost int // of a Refresh, and of the loss
	}{
		"released": {func(t *testing.T, _ *gate, lock *redislock.Lock) {
			t.Helper()
			check.NoError(t, lock.Release(t.Context()))
		}, 0, 0},
		"lost": {func(t *testing.T, g *gate, lock *redislock.Lock) {
			t.Helper()
			check.NoError(t, g.rdb.Del(t.Context(), "a").Err())
			check.Is(t, lock.Refresh(t.Context(), time.Minute), redislock.ErrLockNotHeld)
		}, 1, 1},
		"answered after the deadline": {func(t *testing.T, g *gate, lock *redislock.Lock) {
			t.Helper()
			world.OnLease(g.rdb, func(_ bool, send func() error) error { <-lock.Lost(); return send() })
			<-lock.Lost()
		}, 0, 1},
	} {
		for _, executed := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", executed before: ", executed), func(t *testing.T) {
				world.Bubble(t, func(t *testing.T, _ *world.World, mini *redistest.Mini, j *world.Journal) {
					log := new(check.Log)
					g, client := newGate(t, mini, redislock.WithHooks(j.Hooks()), redislock.WithLogger(slog.New(log)))
					defer client.Close()
					lock := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{"a"}, time.Minute, world.Watched))
					late := g.keep(isRenewal, executed)
					<-late.there
					c.end(t, g, lock)
					late.lets()
					time.Sleep(time.Hour)
					if told, lost := j.Count("refreshed"), j.Count("lost"); told != c.told || lost != c.lost {
						t.Errorf("told %d times of a new lease and %d times of a loss, want %d and %d", told, lost, c.told, c.lost)
					}
					if said := log.At(slog.LevelInfo); len(said) != 0 {
						t.Errorf("it is logged that %q", said)
					}
				})
			})
		}
	}
}

// An attached lock is watched from its first Refresh on, also for those who wait for its loss since before that.
func TestAttachedIsWatched(t *testing.T) {
	world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, j *world.Journal) {
		attached := w.Client.Attach(w.Keys("a"), check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a"), time.Hour, nil)).Token())
		ctx := attached.Context(t.Context())
		time.Sleep(time.Minute)
		check.NoError(t, attached.Refresh(t.Context(), time.Minute))
		time.Sleep(time.Minute / 2)
		if world.IsDone(ctx) {
			t.Error("it is lost before its lease is over")
		}
		time.Sleep(time.Minute / 2)
		if !world.IsDone(ctx) || j.Count("lost") != 1 {
			t.Errorf("nobody is told of its loss: the context has ended: %t, told %d times", world.IsDone(ctx), j.Count("lost"))
		}
	})
}
