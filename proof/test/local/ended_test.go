package local_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A lock of which ReleaseKeys has freed keys is not one of the set any more that the next one wants: that has all of its keys. So it
// is while the request of ReleaseKeys is under way, if a Release overtakes it.
func TestNotGivenAfterReleaseKeys(t *testing.T) {
	for when, overtakes := range map[string]bool{"afterwards": false, "meanwhile": true} {
		inEachWay(t, "released "+when, func(t *testing.T, s *scene, options func(string) *redislock.Options) {
			set := redislock.Set{Write: s.keys, Read: []string{s.keys[0] + ":read"}}
			lock := check.Must[*redislock.Lock](t)(s.Client.ObtainSet(t.Context(), set, world.Long,
				&redislock.Options{Queue: true, Metadata: "first"}))
			next := make(chan *redislock.Lock, 1)
			go func() {
				lock, err := s.Client.ObtainSet(t.Context(), set, world.Long, options("next"))
				check.NoError(t, err)
				next <- lock
			}()
			synctest.Wait()
			released := false
			release := func() {
				released = true
				check.NoError(t, lock.Release(t.Context()))
			}
			s.RDB.AddHook(check.Around{Send: func(cmds []redis.Cmder, send func([]redis.Cmder) error) error {
				if overtakes && !released && check.RunIn(cmds[0]).Of("release") {
					release()
				}
				return send(cmds)
			}})
			check.NoError(t, lock.ReleaseKeys(t.Context(), set.Read))
			if released != overtakes {
				t.Fatalf("a Release has overtaken it: %t", released)
			}
			if !overtakes {
				release()
			}
			given := <-next
			for _, state := range check.Must[[]redislock.KeyState](t)(s.other.Inspect(t.Context(), given.Keys())) {
				if len(state.Holders) != 1 || state.Holders[0].Metadata != "next" {
					t.Errorf("got %v, want that the next one holds it", state)
				}
			}
			check.NoError(t, given.Release(t.Context()))
		})
	}
}

// When a lock ends the next one asks at once: it does not wait for what a Release that is over might give it.
func TestEndsAtOnce(t *testing.T) {
	for name, end := range map[string]func(s *scene, lock *redislock.Lock) error{
		"released": (*scene).end,
		"lost": func(s *scene, lock *redislock.Lock) error {
			check.NoError(s.t, s.RDB.Del(s.t.Context(), s.keys...).Err())
			if err := lock.Refresh(s.t.Context(), world.Long); !errors.Is(err, redislock.ErrLockNotHeld) {
				return fmt.Errorf("refreshed: %w", err)
			}
			return nil
		},
		"some of it released": func(s *scene, lock *redislock.Lock) error {
			return errors.Join(lock.ReleaseKeys(s.t.Context(), lock.Keys()[1:]), lock.Release(s.t.Context()))
		},
	} {
		for when, waits := range map[string]bool{"somebody waits": true, "nobody waits": false} {
			t.Run(name+", "+when, func(t *testing.T) {
				play(t, func(t *testing.T, s *scene) {
					s.keys = s.Keys("{k}1", "{k}2")
					lock := s.obtain(s.Client, options("first"))
					began := time.Now()
					if waits {
						s.waits(t.Context(), s.Client, options("next"))
						check.NoError(t, end(s, lock))
					} else {
						check.NoError(t, end(s, lock))
						s.waits(t.Context(), s.Client, options("next"))
					}
					next := s.wants("next")
					if took := time.Since(began); took > 10*time.Millisecond {
						t.Errorf("it has its turn %s after the end", took)
					}
					check.NoError(t, next.Release(t.Context()))
				})
			})
		}
	}
}

// Who gives up while the hooks are still to hear of the Release that has given it the keys ends at once, and gives them back in one
// request.
func TestGivesUpBeforeTheHooks(t *testing.T) {
	const slow = world.Long * 8 / 10
	for _, passOn := range []time.Duration{0, time.Minute} {
		for _, after := range []time.Duration{time.Second, world.Long * 6 / 10} {
			t.Run(fmt.Sprintf("PassOn %s, after %s", passOn, after), func(t *testing.T) {
				play(t, func(t *testing.T, s *scene) {
					client := world.NewClient(t, s.RDB, redislock.WithHooks(redislock.Hooks{
						Released: func(context.Context, redislock.Event) { time.Sleep(slow) },
					}))
					check.NoError(t, s.obtain(client, passing(passOn)).Release(t.Context())) // now the server knows the script
					lock := s.obtain(client, passing(passOn))
					ctx, cancel := context.WithCancel(t.Context())
					s.waits(ctx, client, passing(passOn))
					released := make(chan error)
					go func() { released <- lock.Release(t.Context()) }()
					time.Sleep(after)
					synctest.Wait()
					ended, before := time.Now(), s.sent.Load()
					cancel()
					check.Is(t, s.ends(""), context.Canceled)
					if took := time.Since(ended); took > time.Second/10 {
						t.Errorf("it has ended %s after its context", took)
					}
					synctest.Wait()
					if got := s.sent.Load() - before; got != 1 {
						t.Errorf("it has sent %d scripts, want one that gives the keys back", got)
					}
					s.WantFree(t, s.keys...)
					check.NoError(t, <-released)
				})
			})
		}
	}
}
