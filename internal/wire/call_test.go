package wire

import (
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/clock"
)

// A call that is used again has nothing of its former use but its channels.
func TestCallIsNewAgain(t *testing.T) {
	t.Parallel()
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	t.Cleanup(func() { _ = rdb.Close() })
	failed, at := errors.New("refused"), clock.Now()
	c := &Call{
		Wish: Wish{
			Context: t.Context(), Run: &said{},
			Plain: true, Bounded: true, Replicas: Replicas{1, time.Second}, WaitForSlot: time.Second,
			Remaining: func() time.Duration { return 0 }, Heard: func(string) {},
		},
		Try: Try{Alone: true, twice: true},
		Result: Result{
			Reply: int64(1), Err: failed, Sent: at, Unanswered: at, Replicated: Replicated{1, failed, failed},
			Cut: failed, Gone: at, Silent: true,
		},
		Then: func(*Call) {},
		conn: New(rdb, Options{}),
	}
	c.fate.Store(taken)
	c.failed.Store(&failed)
	c.heard.Store(1)
	c.done, c.unused = make(chan struct{}, 1), make(chan struct{})
	c.tries, c.moving, c.pauses, c.byCaller = 1, at, 1, true
	done, unused := c.done, c.unused

	c.Reset()
	if c.done != done || c.unused != unused {
		t.Error("a channel is lost")
	}
	if c.Context != nil || c.Run != nil ||
		c.Plain || c.Bounded || c.Replicas != (Replicas{}) || c.WaitForSlot != 0 ||
		c.Remaining != nil || c.Heard != nil || c.Then != nil || c.conn != nil {
		t.Errorf("the request is still there: %+v", c.Wish)
	}
	if c.Alone || c.twice {
		t.Errorf("the try is still there: %+v", c.Try)
	}
	if c.Result != (Result{}) {
		t.Errorf("the result is still there: %+v", c.Result)
	}
	if c.IsAbandoned() || c.Failed() != nil || c.heard.Load() != 0 || c.fate.Load() != going || c.tries+c.pauses > 0 || c.byCaller || c.moving != (clock.Moment{}) {
		t.Error("it has come some way already")
	}
}
