package doctor

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/check"
)

// A slowClock answers TIME in the place of a server. It reads the clock after a quarter of what an answer takes.
type slowClock struct {
	ahead time.Duration
	takes []time.Duration // each answer; one more is refused
}

func (c *slowClock) answer(cmd redis.Cmder) bool {
	if len(c.takes) == 0 {
		return check.Answer(cmd, redis.ErrClosed)
	}
	took := c.takes[0]
	c.takes = c.takes[1:]
	time.Sleep(took / 4)
	cmd.(*redis.TimeCmd).SetVal(time.Now().Add(c.ahead))
	time.Sleep(took - took/4)
	return true
}

// Of all readings the quickest one counts, whichever it is; by how much it may be wrong is half of what it took.
func TestReadClock(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for quickest := range readings {
		synctest.Test(t, func(t *testing.T) {
			c := &slowClock{ahead: 7 * time.Second}
			for i := range readings {
				c.takes = append(c.takes, time.Duration(100+10*i)*ms)
			}
			c.takes[quickest] = 40 * ms
			rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
			defer rdb.Close()
			rdb.AddHook(check.Around{Instead: c.answer})
			got, err := (&node{rdb: rdb}).readClock(t.Context())
			// It was read 10 ms after the request, and is taken to have been read after 20 ms.
			if want := (reading{ahead: 7*time.Second - 10*ms, within: 20 * ms}); got != want || err != nil {
				t.Errorf("reading %d is the quickest: got %+v, error %v, want %+v", quickest, got, err, want)
			}
			if len(c.takes) > 0 {
				t.Errorf("%d readings of %d were not asked for", len(c.takes), readings)
			}
		})
	}
}
