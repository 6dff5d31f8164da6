package world_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/proof/torture/world"
)

// A request that is kept back fails at once, and is executed later: during the fault, or when everything is healed.
func TestLate(t *testing.T) {
	t.Parallel()
	w := world.Start(t, world.Single, redistest.Valkey)
	p := newProbe(t, w, w.Target().Addrs[0])
	target := w.Target()
	patient := redis.NewClient(&redis.Options{
		Addr: target.Addrs[0], Dialer: target.Dial, Username: target.Username, Password: target.Password,
		MaxRetries: -1, DialTimeout: patience, ReadTimeout: patience,
	})
	t.Cleanup(func() { _ = patient.Close() })
	ctx, sent := context.Background(), 0
	executed := func() int {
		n, err := p.admin.HLen(ctx, "executed").Result()
		if err != nil {
			t.Fatal(err)
		}
		return int(n)
	}
	// send reports whether a request was answered.
	send := func() bool {
		sent++
		return patient.Eval(ctx, `return redis.call('hset', KEYS[1], ARGV[1], 1)`, []string{"executed"}, sent).Err() == nil
	}
	late := nemesis(t, w, "late")
	var during, after bool
	for round := uint64(0); round < 20 && (!during || !after); round++ { // a busy machine may do little of it
		over := make(chan error, 1)
		go func() { over <- late.Strike(rand.New(rand.NewPCG(round, 1)), time.Second) }()
		missing := 0
		for ended := false; !ended; {
			if !send() {
				missing++
			}
			select {
			case err := <-over:
				if err != nil {
					t.Error(err)
				}
				ended = true
			default:
			}
		}
		left := sent - executed()
		during, after = during || left < missing, after || left > 0
		if err := w.Heal(); err != nil {
			t.Fatal(err)
		}
		if got := executed(); got != sent {
			t.Fatalf("%d of %d requests were executed", got, sent)
		}
		t.Logf("%d requests were not answered, of which %d were executed when everything was healed", missing, left)
	}
	if !during || !after {
		t.Errorf("was one executed during the fault: %t, after it: %t; want both", during, after)
	}
	p.admin.Expire(ctx, "executed", time.Hour)
	heal(t, p.user)
}

// A clock that gains half a percent has gained a little.
func TestClockFast(t *testing.T) {
	t.Parallel()
	w := world.Start(t, world.Single, redistest.Redis)
	p := newProbe(t, w, w.Target().Addrs[0])
	strike(t, w, "clock-fast", 2*time.Second, p.clock(func(ahead time.Duration) bool { return ahead > 5*time.Millisecond }))
	eventually(t, "the clock is right again", func() error {
		if p.clock(func(ahead time.Duration) bool { return ahead < 5*time.Millisecond })() {
			return nil
		}
		return context.DeadlineExceeded
	})
	heal(t, p.user)
}
