package guard_test

import (
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// outcomeOf returns the runs of one script, as they are sent. The first of them is not executed: it has this
// outcome, after `meanwhile`, which may be nil.
func outcomeOf(rdb *redis.Client, script string, outcome any, meanwhile func()) (runs *[]check.Run) {
	runs = new([]check.Run)
	rdb.AddHook(check.Around{Instead: func(cmd redis.Cmder) bool {
		run := check.RunIn(cmd)
		if !run.Of(script) {
			return false
		}
		if *runs = append(*runs, run); len(*runs) > 1 {
			return false
		}
		if meanwhile != nil {
			meanwhile()
		}
		return check.Answer(cmd, outcome)
	}, After: func(cmd redis.Cmder) {
		if redis.HasErrorPrefix(cmd.Err(), "NOSCRIPT") && check.RunIn(cmd).Of(script) {
			*runs = (*runs)[:len(*runs)-1] // it is sent with its source
		}
	}})
	return runs
}

// A request that a later one has overtaken is sent again, and is no loss. The second time it shortens nothing, because
// others of the token may have obtained the keys; unless ReleaseKeys of its own lock has overtaken it.
func TestGuardOvertakenIsSentAgain(t *testing.T) {
	const ttl = time.Minute
	for name, c := range map[string]struct {
		script string
		read   bool
		do     func(ctx context.Context, w *world.World, l *redislock.Lock) error
		kept   bool // the second run is to leave longer leases as they are
		own    bool // its own ReleaseKeys has overtaken it
		left   time.Duration
	}{
		"refresh": {
			script: "refresh", kept: true, left: ttl,
			do: func(ctx context.Context, _ *world.World, l *redislock.Lock) error { return l.Refresh(ctx, ttl/4) },
		},
		"refresh, keys released": {
			script: "refresh", own: true, left: ttl / 4,
			do: func(ctx context.Context, _ *world.World, l *redislock.Lock) error { return l.Refresh(ctx, ttl/4) },
		},
		"upgrade": {
			script: "convert", read: true, kept: true, left: ttl,
			do: func(ctx context.Context, _ *world.World, l *redislock.Lock) error { return l.Upgrade(ctx) },
		},
		"downgrade": {
			script: "convert", kept: true, left: ttl,
			do: func(ctx context.Context, _ *world.World, l *redislock.Lock) error { return l.Downgrade(ctx) },
		},
		"raise": {
			script: "raise", left: ttl,
			do: func(ctx context.Context, _ *world.World, l *redislock.Lock) error {
				return l.RaiseFence(ctx, l.Fence()+7)
			},
		},
		"release": {
			script: "release",
			do:     func(ctx context.Context, _ *world.World, l *redislock.Lock) error { return l.Release(ctx) },
		},
		"release of keys": {
			script: "release",
			do: func(ctx context.Context, w *world.World, l *redislock.Lock) error {
				return l.ReleaseKeys(ctx, []string{w.Key("b")})
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, j *world.Journal) {
				write, read := w.Keys("a", "b"), w.Keys()
				if c.read {
					write, read = read, write
				}
				lock := check.Must[*redislock.Lock](t)(w.Client.ObtainSet(t.Context(), redislock.Set{Write: write, Read: read}, ttl, &redislock.Options{Fenced: true}))
				var meanwhile func()
				if c.own {
					meanwhile = func() { check.NoError(t, lock.ReleaseKeys(t.Context(), []string{w.Key("a")})) }
				}
				runs := outcomeOf(w.RDB, c.script, int64(-3), meanwhile)
				check.NoError(t, c.do(t.Context(), w, lock))
				if n := len(*runs); n != 2 {
					t.Fatalf("it was sent %d times, want twice", n)
				}
				second := (*runs)[1]
				if got := second.NeverShortens() || second.Convert != nil && second.Convert.Keeps; got != c.kept {
					t.Errorf("the second run leaves leases as they are: %t, want %t", got, c.kept)
				}
				if c.script == "release" {
					w.WantFree(t, w.Key("b"))
					return
				}
				w.WantTTL(t, w.Key("b"), c.left-time.Second, c.left)
				check.NoError(t, lock.Release(t.Context()))
				if n := j.Count("lost"); n != 0 {
					t.Error("a loss was reported")
				}
			})
		})
	}
}

// A Downgrade that an Obtain of another hold has overtaken is dropped: those keys are not to be read only. The
// lock counts as reading, and until when it has not changed.
func TestGuardOvertakenDowngradeIsDropped(t *testing.T) {
	world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
		var mode redislock.Mode
		client := redislock.New(w.RDB, redislock.WithHooks(redislock.Hooks{
			Refreshed: func(_ context.Context, e redislock.Event) { mode = e.Mode },
		}))
		defer client.Close()
		lock := check.Must[*redislock.Lock](t)(client.As(t.Name()).Obtain(t.Context(), w.Keys("a"), time.Minute, nil))
		until := lock.Deadline()
		var other *redislock.Lock
		runs := outcomeOf(w.RDB, "convert", int64(-3), func() {
			other = check.Must[*redislock.Lock](t)(w.Client.As(t.Name()).Obtain(t.Context(), w.Keys("a"), time.Minute, nil))
		})
		time.Sleep(time.Second)
		check.NoError(t, lock.Downgrade(t.Context()))
		if n := len(*runs); n != 1 {
			t.Errorf("it was sent %d times, want once", n)
		}
		if got := lock.Deadline(); !got.Equal(until) {
			t.Errorf("the deadline has moved by %v", got.Sub(until))
		}
		if kind := w.RDB.Type(t.Context(), w.Key("a")).Val(); kind != "string" {
			t.Errorf("got a %s, want the write key of the other hold", kind)
		}
		if mode != redislock.ModeRead {
			t.Errorf("the lock counts as one in mode %q, want that it reads", mode)
		}
		check.NoError(t, other.Release(t.Context()))
	})
}

// A lock whose token callers get while a request is under way is none of the others to which that request yields: asked again, it does
// all that it is to do.
func TestGuardYieldsToNoClaimOfItsOwn(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		do     func(ctx context.Context, w *world.World, l *redislock.Lock) error
		want   string // what the key is then
	}{
		"downgrade": {"convert", func(ctx context.Context, _ *world.World, l *redislock.Lock) error { return l.Downgrade(ctx) }, "zset"},
		"release of keys": {"release", func(ctx context.Context, w *world.World, l *redislock.Lock) error {
			return l.ReleaseKeys(ctx, w.Keys("a"))
		}, "none"},
		"release": {"release", func(ctx context.Context, _ *world.World, l *redislock.Lock) error { return l.Release(ctx) }, "none"},
	} {
		for what, first := range map[string]any{"no answer": io.EOF, "overtaken": int64(-3)} {
			for _, before := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, %s, a Refresh before %t", name, what, before), func(t *testing.T) {
					world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
						lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a", "b"), time.Minute, nil))
						if before {
							outcomeOf(w.RDB, "refresh", io.EOF, nil)
							check.NoError(t, lock.Refresh(t.Context(), time.Second))
						}
						var token string
						runs := outcomeOf(w.RDB, c.script, first, func() { token = lock.Token() })
						check.NoError(t, c.do(t.Context(), w, lock))
						if n := len(*runs); n != 2 || token == "" && name != "release" {
							t.Errorf("it was sent %d times, want twice; the token is %q", n, token)
						}
						if got := w.RDB.Type(t.Context(), w.Key("a")).Val(); got != c.want {
							t.Errorf("the key is a %s, want a %s", got, c.want)
						}
					})
				})
			}
		}
	}
}

// A conversion whose answer was lost is asked again. If others of the token have obtained the keys meanwhile, a Downgrade is
// not, and an Upgrade shortens nothing.
func TestGuardConvertYields(t *testing.T) {
	for name, upgrades := range map[string]bool{"downgrade": false, "upgrade": true} {
		t.Run(name, func(t *testing.T) {
			world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
				owner := w.Client.As(t.Name())
				obtain, convert, kind := owner.Obtain, (*redislock.Lock).Downgrade, "string"
				if upgrades {
					obtain, convert = owner.ObtainRead, (*redislock.Lock).Upgrade
				}
				lock := check.Must[*redislock.Lock](t)(obtain(t.Context(), w.Keys("a"), time.Minute, nil))
				var other *redislock.Lock
				runs := outcomeOf(w.RDB, "convert", io.EOF, func() {
					other = check.Must[*redislock.Lock](t)(obtain(t.Context(), w.Keys("a"), time.Hour, nil))
				})
				check.NoError(t, convert(lock, t.Context()))
				if n := len(*runs); n != 1 && !upgrades || n != 2 && upgrades {
					t.Errorf("it was sent %d times", n)
				}
				if got := w.RDB.Type(t.Context(), w.Key("a")).Val(); got != kind {
					t.Errorf("the key is a %s, want a %s", got, kind)
				}
				w.WantTTL(t, w.Key("a"), time.Hour-time.Second, time.Hour)
				check.NoError(t, other.Release(t.Context()))
			})
		})
	}
}

// After an error that a proxy may have sent, the next request sets a guard. A Refresh that the server has refused because
// the user may not do it cannot come late any more.
func TestGuardBehindErrors(t *testing.T) {
	for text, want := range map[string]int64{
		"ERR upstream failure": 1, "upstream failure": 1,
		"NOPERM this user has no permissions to run the 'evalsha' command": 0,
		"OOM command not allowed when used memory > 'maxmemory'":           0,
	} {
		t.Run(text, func(t *testing.T) {
			world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
				lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a", "b"), time.Minute, nil))
				runs := outcomeOf(w.RDB, "refresh", world.Refusal(text), nil)
				if err := lock.Refresh(t.Context(), time.Minute/2); err == nil {
					t.Fatal("it was refreshed")
				}
				check.NoError(t, lock.ReleaseKeys(t.Context(), []string{w.Key("a")}))
				if got := check.Guards(t.Context(), w.RDB, "redislock:line:{"+w.Key("a")+"}"); got != want {
					t.Errorf("got %d guards, want %d", got, want)
				}
				check.NoError(t, lock.Release(t.Context()))
				if (*runs)[0].NeverShortens() {
					t.Error("it was no Refresh that may shorten")
				}
			})
		})
	}
}
