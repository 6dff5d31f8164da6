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

// At its bounds, a clock is judged by what is certain: neither how far it is ahead nor how far that may be wrong is enough alone.
func TestJudgeClocks(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	replica := func(ahead, within time.Duration) Finding {
		return judgeReplicaClock(reading{ahead * ms, within * ms}, 10*time.Second) // which allows for 102 ms
	}
	ours := func(ahead, within time.Duration) Finding { return judgeOurs(reading{ahead * ms, within * ms}) }
	for name, tt := range map[string]struct {
		got    Finding
		status Status
		text   string
	}{
		"ahead by more than is allowed":             {replica(104, 1), Fault, "104ms (± 1.0ms) ahead of its primary's"},
		"perhaps by just what is allowed":           {replica(103, 1), Unknown, "too slow to tell"},
		"by more, if the reading is right":          {replica(150, 100), Unknown, "too slow to tell"},
		"by less, if the reading is right":          {replica(50, 60), Unknown, "too slow to tell"},
		"by what is allowed at most":                {replica(101, 1), OK, "10s"},
		"by what a longer ttl allows":               {judgeReplicaClock(reading{500 * ms, ms}, time.Minute), OK, "1m00s"},
		"behind by a second at least":               {replica(-1003, 2), Warning, "behind its primary's"},
		"perhaps by just a second":                  {replica(-1002, 2), OK, "agrees"},
		"by more than a second, or as much ahead":   {replica(-1500, 1800), Unknown, "too slow to tell"},
		"ours, a second apart at least":             {ours(1002, 1), Warning, "ahead of this machine's"},
		"ours, behind, a second apart at least":     {ours(-1002, 1), Warning, "1.0s (± 1.0ms) behind this machine's"},
		"ours, perhaps less than a second apart":    {ours(1001, 1), OK, "within a second"},
		"ours, behind, perhaps less than a second":  {ours(-1500, 500), OK, "within a second"},
		"ours, ahead, by more than may be an error": {ours(1500, 499), Warning, "ahead of this machine's"},
	} {
		wantJudged(t, name, tt.got, tt.status, tt.text)
	}
}
