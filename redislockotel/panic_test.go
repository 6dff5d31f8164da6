package redislockotel_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/multi"
	"github.com/seed-14de3678/redislock/quorum"
)

// panicky is a strategy that lets an Obtain wait once, and panics then.
type panicky struct{ asked int }

func (p *panicky) NextBackOff() time.Duration {
	if p.asked++; p.asked > 1 {
		panic("strategy")
	}
	return time.Second
}

// newPanicky returns options with such a strategy.
func newPanicky() *redislock.Options {
	return &redislock.Options{Name: "n", RetryStrategy: func() redislock.BackOff { return &panicky{} }}
}

func mustPanic(t *testing.T, fn func()) {
	t.Helper()
	defer func() {
		if recover() == nil {
			t.Error("there is no panic")
		}
	}()
	fn()
}

// A strategy that panics ends the wait. It is no error of the server.
func TestStrategyPanics(t *testing.T) {
	for _, name := range []string{"client", "quorum", "multi"} {
		t.Run(name, func(t *testing.T) {
			inScene(t, func(t *testing.T, s *scene) {
				_ = check.Must[*redislock.Lock](t)(redislock.New(s.rdb).Obtain(t.Context(), []string{"a"}, time.Hour, nil))
				mustPanic(t, func() { obtainFrom(t, s, name, newPanicky()) })
				// A quorum adds a random time to that of the strategy.
				s.want(t, "refused{_OTHER write n poll} 1", lineOf(s.lines(t), "wait.duration{_OTHER write n poll} 1 in "))
				s.wantMemory(t, 0)
			})
		})
	}
}

// obtainFrom obtains "a" from a Client of one of the packages.
func obtainFrom(t *testing.T, s *scene, name string, opt *redislock.Options) {
	t.Helper()
	keys := []string{"a"}
	switch name {
	case "client":
		_, _ = s.client.Obtain(t.Context(), keys, time.Hour, opt)
	case "quorum":
		node := redislock.New(s.rdb)
		defer node.Close()
		client := check.Must[*quorum.Client](t)(quorum.New([]*redislock.Client{node}, quorum.WithHooks(s.hooks)))
		defer client.Close()
		_, _ = client.Obtain(t.Context(), keys, time.Hour, opt)
	case "multi":
		parts := []multi.Part{{Client: redislock.New(s.rdb), Set: redislock.Set{Write: keys}}}
		_, _ = multi.Client{Hooks: s.hooks}.Obtain(t.Context(), parts, time.Hour, opt)
	}
}

// The hooks of somebody else panic, behind these and before them: nothing counts as held or waiting that is not.
func TestOtherHookPanics(t *testing.T) {
	for name, only := range map[string]func() redislock.Hooks{
		"obtained": func() redislock.Hooks { return redislock.Hooks{Obtained: panics} },
		"waiting":  func() redislock.Hooks { return redislock.Hooks{Waiting: panics} },
		"waited":   func() redislock.Hooks { return redislock.Hooks{Waited: panics} },
	} {
		for order, join := range map[string]func(s *scene) redislock.Hooks{
			"behind": func(s *scene) redislock.Hooks { return s.hooks.And(only()) },
			"before": func(s *scene) redislock.Hooks { return only().And(s.hooks) },
		} {
			t.Run(name+" "+order, func(t *testing.T) {
				inScene(t, func(t *testing.T, s *scene) {
					holder := check.Must[*redislock.Lock](t)(redislock.New(s.rdb).Obtain(t.Context(), []string{"a"}, time.Hour, nil))
					time.AfterFunc(10*time.Second, func() { _ = holder.Release(context.Background()) })
					client := redislock.New(s.rdb, redislock.WithHooks(join(s)))
					defer client.Close()
					opt := polls(time.Second)
					mustPanic(t, func() { _, _ = client.Obtain(t.Context(), []string{"a"}, time.Hour, &opt) })
					synctest.Wait()
					for _, line := range s.lines(t) {
						for _, bad := range []string{"held{", "waiting{", "server."} {
							if len(line) > len(bad) && line[:len(bad)] == bad {
								t.Errorf("got %s", line)
							}
						}
					}
					s.wantMemory(t, 0)
				})
			})
		}
	}
}

func panics(context.Context, redislock.Event) { panic("hook") }
