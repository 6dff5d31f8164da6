package locktest

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/listen"
	"github.com/seed-14de3678/redislock/internal/proto/decode"
)

// noticePauses are the pauses before listeners are told the same again.
var noticePauses = [...]time.Duration{
	5 * time.Millisecond, 20 * time.Millisecond, 80 * time.Millisecond, 320 * time.Millisecond, time.Second,
}

// Break takes the keys from their holders, as [redislock.Client.Break] does for somebody on call, and hands
// them over to the waiters in line. A watched lock of a [Server.Client] is lost within moments, also if it is
// so new that its Client does not listen yet: the contexts end with a cause that is a [redislock.ErrBroken]
// and a [redislock.ErrLockLost]. Any other holder learns of it at its next request. A key that is free is no
// error.
//
// Keys are named as in Redis. They are one set: if one of them holds no lock, the test fails.
func (s *Server) Break(keys ...string) {
	s.tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	const reason = "by the test"
	if _, err := s.other.Break(ctx, keys, reason); err != nil {
		s.tb.Fatalf("locktest: %v", err)
		return
	}
	s.tell(listen.Notice{Reason: reason, Keys: keys})
}

// Expire ends the leases of all who hold the keys, writers and readers alike, as if their time were over,
// and hands the keys over to the waiters in line. Keys that were left are free, too. So the next owner can
// come while the last one still believes that it has the lock, as after a pause that is longer than the
// ttl.
//
// A watched lock of a [Server.Client] is lost within moments, and its contexts end with the cause
// [redislock.ErrLockLost]. Any other holder learns of it at its next request, which returns an
// [redislock.ErrLockNotHeld]. Its Deadline does not change. Fencing numbers go on growing.
//
// Keys are named as in Redis. A key that is free is no error. If one of them holds no lock, the test fails.
func (s *Server) Expire(keys ...string) {
	s.tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	states, err := s.other.Inspect(ctx, keys)
	for _, state := range states {
		if state.Mode == redislock.ModeForeign {
			err = errors.Join(err, errors.New(state.String()))
		}
	}
	if err != nil {
		s.tb.Fatalf("locktest: expire: %v", err)
		return
	}
	client := redislock.New(&expiry{Client: s.direct})
	defer client.Close()
	if _, err := client.Break(ctx, keys, ""); err != nil {
		s.tb.Fatalf("locktest: expire: %v", err)
		return
	}
	s.tell(listen.Notice{Keys: keys, Ended: true})
}

// An expiry is a Redis client that deletes keys in one step with the first script that it runs. That script is the
// Break of these keys. It finds them free, so it breaks nobody, and only hands them over.
type expiry struct {
	*redis.Client
	done atomic.Bool
}

// EvalSha runs a script by its source, because the server does not know the script with the deletion.
func (e *expiry) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	return e.Eval(ctx, decode.Sent(sha).Source(), keys, args...)
}

// Eval runs a script, the first one behind the deletion. The keys of a Break are the keys of the set, and twice as
// many beside them.
func (e *expiry) Eval(ctx context.Context, script string, keys []string, args ...any) *redis.Cmd {
	if !e.done.Swap(true) {
		script = "for i = 1, #KEYS / 3 do redis.call('del', KEYS[i]) end\n" + script
	}
	return e.Client.Eval(ctx, script, keys, args...)
}
