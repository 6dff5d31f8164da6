package doctor

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
)

// Each command is timed so often, or less often if that takes too long.
const (
	tries     = 60
	fewest    = 10
	mostSpent = time.Second
)

// times are durations of one command, in order.
type times []time.Duration

func (t times) at(percent int) time.Duration { return t[min(len(t)-1, len(t)*percent/100)] }

func (t times) String() string {
	return fmt.Sprintf("p50 %s, p99 %s, max %s", cli.Duration(t.at(50)), cli.Duration(t.at(99)), cli.Duration(t[len(t)-1]))
}

// timed runs a command again and again.
func timed(run func() error) (times, error) {
	var t times
	for start := time.Now(); len(t) < tries && (len(t) < fewest || time.Since(start) < mostSpent); {
		began := time.Now()
		if err := run(); err != nil {
			return nil, err
		}
		t = append(t, time.Since(began))
	}
	slices.Sort(t)
	return t, nil
}

// checkLatency times a PING, which is the way there and back, and a script that does nothing.
func checkLatency(ctx context.Context, e *exam) Finding {
	pings, err := timed(func() error { return e.rdb.Ping(ctx).Err() })
	if redis.HasErrorPrefix(err, "NOPERM") {
		pings, err = timed(func() error { return e.rdb.Time(ctx).Err() }) // users of locks may do that
	}
	if !e.answered(err, "+ping") {
		return Finding{}
	}
	script := redis.NewScript("return 1")
	scripts, err := timed(func() error { return script.Eval(ctx, e.rdb, nil).Err() })
	if !e.answered(err, "+eval") {
		return Finding{}
	}
	return judgeLatency(pings, scripts)
}

// The limits of what is said to be slow.
const (
	slowPing   = 50 * time.Millisecond  // half of what an Obtain with Options.Wait has for one attempt in any case
	awayPing   = time.Second            // a third of the time in which many clients expect an answer
	slowTail   = 500 * time.Millisecond // what keeps coming back
	slowScript = 10 * time.Millisecond  // beside the way there and back
)

func judgeLatency(pings, scripts times) Finding {
	text := fmt.Sprintf("PING %s; a script %s", pings, scripts)
	const way = "put what locks near to the server; look at redis-cli --latency on the server itself, and at its CPU and swap."
	switch {
	case pings.at(50) >= awayPing:
		return bad(Fault, text, "Each operation takes that long or longer. Time-outs of clients are near, and short leases end before they are renewed.", way)
	case pings.at(50) >= slowPing:
		return bad(Warning, text, "Each operation takes at least one way there and back. Choose a ttl of many times that.", way)
	case scripts.at(50)-pings.at(50) >= slowScript:
		return bad(Warning, text, "Scripts wait for something that a PING does not wait for: other scripts, or a service that treats them specially.", "look at SLOWLOG GET on the server.")
	case pings.at(90) >= slowTail || scripts.at(90) >= slowTail:
		return bad(Warning, text, "One answer in ten is that slow: the server does something else meanwhile.", "look at SLOWLOG GET and LATENCY DOCTOR on the server.")
	}
	return fine("%s", text)
}
