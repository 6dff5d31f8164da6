package api_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A register writes down all that hooks are told.
type register struct {
	began time.Time
	mu    sync.Mutex
	lines []string
	hold  func() // called by the hook Obtained of a lock with the name "held up"
}

func (r *register) hooks() redislock.Hooks {
	note := func(name string) func(context.Context, redislock.Event) {
		return func(ctx context.Context, e redislock.Event) {
			line := fmt.Sprintf("%s by %q: %v %s %q %s", name, check.PageOf(ctx), e.Keys, e.Mode, e.Name, e.Way)
			for _, field := range []struct {
				name string
				d    time.Duration
			}{{"took", e.Duration}, {"held", e.Held}, {"kept", e.Kept}} {
				if field.d != 0 {
					line += fmt.Sprintf(" %s %v", field.name, field.d)
				}
			}
			if !e.Expires.IsZero() {
				line += fmt.Sprintf(" expires %v", e.Expires.Sub(r.began))
			}
			line += fmt.Sprintf(" asked %d numbered %t ended %t", e.Attempts, e.Fence > 0, e.Ended)
			r.mu.Lock()
			if r.lines = append(r.lines, line); e.Err != nil {
				r.lines = append(r.lines, "  "+e.Err.Error())
			}
			r.mu.Unlock()
			if name == "obtained" && e.Name == "held up" {
				r.hold()
			}
		}
	}
	return redislock.Hooks{
		Obtained: note("obtained"), Refused: note("refused"), Refreshed: note("refreshed"), Lost: note("lost"), Released: note("released"),
	}
}

// warmUp has the server know the scripts, and the client have a connection, so that a request takes as long as another.
func warmUp(t *testing.T, client *redislock.Client) {
	t.Helper()
	lock := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{"warm", "warm too"}, time.Minute, world.Fenced()))
	check.NoError(t, lock.Downgrade(t.Context()))
	check.NoError(t, lock.Refresh(t.Context(), time.Minute))
	check.NoError(t, lock.RaiseFence(t.Context(), lock.Fence()+1))
	_ = check.Must[time.Duration](t)(lock.TTL(t.Context()))
	check.NoError(t, lock.Release(t.Context()))
	check.NoError(t, check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{"warm"}, time.Minute, nil)).Release(t.Context()))
}

// inRegister runs a scenario with a server that takes 10 ms for each request, and compares what the hooks were told.
func inRegister(t *testing.T, want string, fn func(t *testing.T, mini *redistest.Mini, client *redislock.Client, r *register)) {
	t.Helper()
	world.Bubble(t, func(t *testing.T, _ *world.World, mini *redistest.Mini, _ *world.Journal) {
		rdb := mini.Client(t)
		warmUp(t, redislock.New(rdb))
		rdb.AddHook(check.Slow(10 * time.Millisecond))
		r := &register{began: time.Now()}
		fn(t, mini, world.NewClient(t, rdb, redislock.WithHooks(r.hooks()), redislock.WithKeyPrefix("p:")), r)
		if diff := cmp.Diff(strings.Split(strings.Trim(want, "\n"), "\n"), r.lines); diff != "" {
			t.Errorf("the hooks were told (-want +got):\n%s", diff)
		}
	})
}

// The hooks are told all that there is to say of a lock, by the context of each call.
func TestEventsOfALockSayAll(t *testing.T) {
	t.Parallel()
	inRegister(t, eventsOfALock, func(t *testing.T, mini *redistest.Mini, client *redislock.Client, _ *register) {
		t.Helper()
		lock := check.Must[*redislock.Lock](t)(client.Obtain(check.OnPage(t.Context(), "obtain"), []string{"a", "b", "c", "d"}, time.Minute,
			&redislock.Options{Name: "its name", HoldAtLeast: 5 * time.Second, Fenced: true}))
		time.Sleep(time.Second)
		check.NoError(t, lock.Refresh(check.OnPage(t.Context(), "refresh"), 2*time.Minute))
		check.NoError(t, lock.ReleaseKeys(check.OnPage(t.Context(), "release d"), []string{"d"}))
		check.NoError(t, lock.Downgrade(check.OnPage(t.Context(), "downgrade")))
		mini.Miniredis().SetError("ERR broken")
		for _, err := range []error{
			lock.Refresh(check.OnPage(t.Context(), "refresh, broken"), time.Hour), lock.Upgrade(check.OnPage(t.Context(), "upgrade, broken")),
			lock.ReleaseKeys(check.OnPage(t.Context(), "release c, broken"), []string{"c"}), lock.Release(check.OnPage(t.Context(), "release, broken")),
		} {
			if err == nil {
				t.Error("a server that is broken has done it")
			}
		}
		mini.Miniredis().SetError("")
		check.NoError(t, lock.Release(check.OnPage(t.Context(), "release")))
		check.Is(t, lock.Release(check.OnPage(t.Context(), "release, again")), redislock.ErrLockNotHeld)
		left := check.Must[*redislock.Lock](t)(client.ObtainRead(check.OnPage(t.Context(), "read"), []string{"e"}, time.Minute, nil))
		check.NoError(t, left.Leave(check.OnPage(t.Context(), "leave"), time.Hour))
		check.Is(t, left.Release(check.OnPage(t.Context(), "release what was left")), redislock.ErrLockNotHeld)
	})
}

// Who finds out that a lock is lost is told, and the hook that hears of losses as well: once, and with the reason.
func TestEventsOfALoss(t *testing.T) {
	t.Parallel()
	inRegister(t, eventsOfALoss, func(t *testing.T, mini *redistest.Mini, client *redislock.Client, r *register) {
		t.Helper()
		keeps := &redislock.Options{HoldAtLeast: time.Minute}
		obtain := func(key string, opt *redislock.Options) *redislock.Lock {
			return check.Must[*redislock.Lock](t)(client.Obtain(check.OnPage(t.Context(), "obtain"), []string{key}, 30*time.Second, opt))
		}
		for _, find := range []func(ctx context.Context, lock *redislock.Lock) error{
			func(ctx context.Context, lock *redislock.Lock) error { return lock.Refresh(ctx, time.Minute) },
			func(ctx context.Context, lock *redislock.Lock) error { return lock.Release(ctx) },
		} {
			lock := obtain("a", keeps)
			time.Sleep(time.Second)
			mini.Miniredis().Del("p:a")
			check.Is(t, find(check.OnPage(t.Context(), "the one that finds out"), lock), redislock.ErrLockNotHeld)
			check.Is(t, lock.Release(check.OnPage(t.Context(), "release")), redislock.ErrLockNotHeld)
		}
		check.Is(t, obtain("d", nil).Refresh(check.OnPage(t.Context(), "refresh"), 5*time.Millisecond), redislock.ErrLockNotHeld) // its answer comes too late
		renewed := obtain("b", world.Watched)
		time.Sleep(11 * time.Second)
		mini.Miniredis().SetError("ERR broken")
		<-renewed.Lost()
		synctest.Wait()
		r.hold = func() {
			mini.Miniredis().SetError("ERR broken")
			time.Sleep(30 * time.Second)
		}
		mini.Miniredis().SetError("")
		check.NoError(t, renewed.Release(check.OnPage(t.Context(), "release what was lost")))
		obtain("c", &redislock.Options{Watchdog: true, Name: "held up"})
		mini.Miniredis().SetError("")
	})
}

const eventsOfALock = `
obtained by "obtain": [a b c d] write "its name" once took 10ms expires 59.398s asked 1 numbered true ended false
refreshed by "refresh": [a b c d] write "its name" once took 10ms held 1.02s expires 1m59.808s asked 1 numbered true ended false
released by "release d": [d] write "its name" once took 10ms held 1.03s kept 3.99s asked 1 numbered true ended false
refreshed by "downgrade": [a b c] read "its name" once took 10ms held 1.04s expires 1m59.828s asked 1 numbered true ended false
refreshed by "refresh, broken": [a b c] read "its name" once took 10ms held 1.05s expires 1m59.828s asked 1 numbered true ended false
  redislock: refresh "a" and 2 more: ERR broken
refreshed by "upgrade, broken": [a b c] read "its name" once took 10ms held 1.06s expires 1m59.828s asked 1 numbered true ended false
  redislock: upgrade "a" and 2 more: ERR broken
released by "release c, broken": [c] read "its name" once took 10ms held 1.07s kept 3.95s asked 1 numbered true ended false
  redislock: release "c": ERR broken
released by "release, broken": [a b] read "its name" once took 10ms held 1.08s kept 3.94s asked 1 numbered true ended true
  redislock: release "a" and 1 more: ERR broken
released by "release": [a b] read "its name" once took 10ms held 1.09s kept 3.93s asked 1 numbered true ended true
released by "release, again": [a b] read "its name" once held 1.09s asked 0 numbered true ended true
  redislock: release "a" and 1 more: lock not held: it was released already
obtained by "read": [e] read "" once took 10ms expires 1m0.488s asked 1 numbered false ended false
released by "leave": [e] read "" once took 10ms held 20ms kept 1h0m0s asked 1 numbered false ended true
released by "release what was left": [e] read "" once held 20ms asked 0 numbered false ended true
  redislock: release "e": lock not held: it was released already
`

const eventsOfALoss = `
obtained by "obtain": [a] write "" once took 10ms expires 29.698s asked 1 numbered false ended false
lost by "": [a] write "" once held 1.02s asked 0 numbered false ended true
  redislock: lock lost: "a"
refreshed by "the one that finds out": [a] write "" once took 10ms held 1.02s asked 1 numbered false ended true
  redislock: refresh "a": lock not held: lost "a"
released by "release": [a] write "" once took 10ms held 1.03s asked 1 numbered false ended true
  redislock: release "a": lock not held: lost "a"
obtained by "obtain": [a] write "" once took 10ms expires 30.728s asked 1 numbered false ended false
released by "the one that finds out": [a] write "" once took 10ms held 1.02s asked 1 numbered false ended true
  redislock: release "a": lock not held: lost "a"
released by "release": [a] write "" once held 1.02s asked 0 numbered false ended true
  redislock: release "a": lock not held: lost "a"
obtained by "obtain": [d] write "" once took 10ms expires 31.748s asked 1 numbered false ended false
lost by "": [d] write "" once held 20ms asked 0 numbered false ended true
  redislock: lock lost: "d": lock not held: the answer came after the new lease had ended
refreshed by "refresh": [d] write "" once took 10ms held 20ms asked 1 numbered false ended true
  redislock: refresh "d": lock not held: the answer came after the new lease had ended
obtained by "obtain": [b] write "" once took 10ms asked 1 numbered false ended false
refreshed by "": [b] write "" once took 10ms held 9.909333333s asked 1 numbered false ended false
refreshed by "": [b] write "" once took 10ms held 19.808666666s asked 1 numbered false ended false
  redislock: renew "b": ERR broken
refreshed by "": [b] write "" once took 10ms held 23.141999999s asked 1 numbered false ended false
  redislock: renew "b": ERR broken
refreshed by "": [b] write "" once took 10ms held 26.475333332s asked 1 numbered false ended false
  redislock: renew "b": ERR broken
refreshed by "": [b] write "" once took 10ms held 29.808666665s asked 1 numbered false ended false
  redislock: renew "b": ERR broken
refreshed by "": [b] write "" once took 10ms held 33.141999998s asked 1 numbered false ended false
  redislock: renew "b": ERR broken
refreshed by "": [b] write "" once took 10ms held 36.475333331s asked 1 numbered false ended false
  redislock: renew "b": ERR broken
lost by "": [b] write "" once held 39.497333333s asked 0 numbered false ended true
  redislock: lock lost: "b": no renewal was confirmed before the deadline: redislock: renew "b": ERR broken
released by "release what was lost": [b] write "" once took 10ms held 39.507333333s asked 1 numbered false ended true
obtained by "obtain": [c] write "held up" once took 10ms asked 1 numbered false ended false
refreshed by "": [c] write "held up" once took 10ms held 9.909333333s asked 1 numbered false ended false
  redislock: renew "c": ERR broken
refreshed by "": [c] write "held up" once took 10ms held 13.242666666s asked 1 numbered false ended false
  redislock: renew "c": ERR broken
refreshed by "": [c] write "held up" once took 10ms held 16.575999999s asked 1 numbered false ended false
  redislock: renew "c": ERR broken
refreshed by "": [c] write "held up" once took 10ms held 19.909333332s asked 1 numbered false ended false
  redislock: renew "c": ERR broken
refreshed by "": [c] write "held up" once took 10ms held 23.242666665s asked 1 numbered false ended false
  redislock: renew "c": ERR broken
refreshed by "": [c] write "held up" once took 10ms held 26.575999998s asked 1 numbered false ended false
  redislock: renew "c": ERR broken
lost by "": [c] write "held up" once held 30.01s asked 0 numbered false ended true
  redislock: lock lost: "c": no renewal was confirmed before the deadline: redislock: renew "c": ERR broken
`
