package errors_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/world"
)

// What cannot be asked of a lock is refused with the reason, and nothing is sent.
func TestRefusedOfALock(t *testing.T) {
	t.Parallel()
	var none *redislock.Lock
	tell(t, []story{{"all", func(ctx context.Context, t *testing.T) []any {
		t.Helper()
		s := newInTurn(t, world.Fenced(), nil)
		s.says(late{0, broken})
		attached := s.client.Attach([]string{"a", "b"}, "t")
		refused := []any{
			none.Refresh(ctx, time.Hour), none.Downgrade(ctx), none.Upgrade(ctx), none.RaiseFence(ctx, 1), none.ReleaseKeys(ctx, []string{"a"}),
			none.Release(ctx), none.Leave(ctx, time.Hour), second(none.TTL(ctx)), context.Cause(none.Context(ctx)),
			attached.Downgrade(ctx), attached.Upgrade(ctx),
			s.lock.Refresh(ctx, 1), s.lock.RaiseFence(ctx, 0), s.lock.RaiseFence(ctx, -1), s.lock.RaiseFence(ctx, 1<<53), s.lock.ReleaseKeys(ctx, nil),
			s.lock.ReleaseKeys(ctx, []string{"a", "c"}), s.lock.Leave(ctx, 400*24*time.Hour),
		}
		zero := new(redislock.Lock)
		refused = append(refused, zero.Refresh(ctx, time.Hour), zero.Release(ctx))
		return append(refused, "sent:", s.lock.RaiseFence(ctx, 1), s.lock.RaiseFence(ctx, 1))
	}, `
redislock: refresh: lock not held: no Obtain has returned it
redislock: downgrade: lock not held: no Obtain has returned it
redislock: upgrade: lock not held: no Obtain has returned it
redislock: raise fence: lock not held: no Obtain has returned it
redislock: release: lock not held: no Obtain has returned it
redislock: release: lock not held: no Obtain has returned it
redislock: leave: lock not held: no Obtain has returned it
redislock: ttl: lock not held: no Obtain has returned it
lock not held: no Obtain has returned it
redislock: downgrade "a" and 1 more: invalid ttl: an attached lock has none before a Refresh
redislock: upgrade "a" and 1 more: invalid ttl: an attached lock has none before a Refresh
redislock: refresh: invalid ttl: 1ns is not between 1ms and 8760h0m0s: a number without a unit counts nanoseconds, write 30*time.Second, for example
redislock: raise fence: invalid number: 0 is not between 1 and 4503599627370496
redislock: raise fence: invalid number: -1 is not between 1 and 4503599627370496
redislock: raise fence: invalid number: 9007199254740992 is not between 1 and 4503599627370496
redislock: release: invalid keys: none are named
redislock: release: invalid keys: "c" is not in the set
redislock: leave: invalid ttl: 9600h0m0s is not between 1ms and 8760h0m0s
redislock: refresh: lock not held: no Obtain has returned it
redislock: release: lock not held: no Obtain has returned it
sent:
redislock: raise fence "a" and 1 more: ERR broken
<nil>
`}})
}

func second(_ time.Duration, err error) error { return err }

// What is printed of a lock says how it has ended, and the time that is left of it. A lease without an end counts as the longest one.
func TestPrintsHowALockHasEnded(t *testing.T) {
	t.Parallel()
	tell(t, []story{{"all", func(ctx context.Context, t *testing.T) []any {
		t.Helper()
		s := newInTurn(t, nil, nil)
		text := []any{fmt.Sprint(s.lock), fmt.Sprintf("%#v", s.lock)}
		s.says(late{0, "*2\r\n:1\r\n:-1\r\n"}, late{0, "*2\r\n:1\r\n:5000\r\n"}, late{0, bGone})
		for range 3 {
			ttl, err := s.lock.TTL(ctx)
			text = append(text, ttl, err)
		}
		check.NoError(t, s.lock.Release(ctx))
		text = append(text, fmt.Sprint(s.lock), "it has a token: ", s.lock.Token() != "")
		attached := s.client.Attach([]string{"a"}, "t")
		text = append(text, fmt.Sprint(attached))
		check.NoError(t, attached.Refresh(ctx, time.Minute))
		text = append(text, fmt.Sprint(attached))
		s.says(late{0, "*2\r\n:-1\r\n:1\r\n"})
		check.Is(t, attached.Refresh(ctx, time.Minute), redislock.ErrLockNotHeld)
		return append(text, fmt.Sprint(attached))
	}, `
write "a", "b", 59s left
*redislock.Lock(write "a", "b", 59s left)
8760h0m0s
<nil>
5s
<nil>
0s
redislock: ttl "a" and 1 more: lock not held
write "a", "b", released
it has a token: 
true
keys "a", time left not known
keys "a", 59s left
keys "a", lost
`}})
}
