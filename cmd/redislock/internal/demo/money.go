package demo

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/count"
)

const (
	accounts       = 8
	movers         = 16
	openingBalance = 1000
	// bankLife is how long the balances would outlive a demo that was killed.
	bankLife = time.Minute
)

// A bank is accounts whose balances are plain strings in Redis. What keeps them right is that
// whoever moves money holds the locks of both accounts.
type bank struct {
	*stage
	locks    []string // by account
	balances []string // by account
	moved    atomic.Int64
	until    time.Time

	snapshots, whole, partial int // locks that somebody saw who looked at all of them, again and again
}

// playMoney has workers move money while it watches the locks, then counts the money.
func playMoney(ctx context.Context, s *stage) (verdict, error) {
	b := &bank{stage: s}
	for i := range accounts {
		b.locks = append(b.locks, s.key("account:%d", i))
		b.balances = append(b.balances, s.key("balance:%d", i))
	}
	if err := b.open(ctx); err != nil {
		return verdict{}, err
	}
	b.until = time.Now().Add(s.span(1500 * time.Millisecond))
	if err := b.operate(ctx); err != nil {
		return verdict{}, err
	}
	balances, err := b.read(ctx, b.balances...)
	if err != nil {
		return verdict{}, err
	}
	return b.judge(balances), nil
}

// judge compares what there is with what there has to be.
func (b *bank) judge(balances []int) verdict {
	const want = accounts * openingBalance
	sum := 0
	for _, balance := range balances {
		sum += balance
	}
	var v verdict
	v.check(sum == want, fmt.Sprintf("the sum is still %d", want), fmt.Sprintf("the sum is %d, not %d", sum, want))
	v.check(b.moved.Load() > 0, count.Of(b.moved.Load(), "transfer"), "no transfer")
	v.check(b.partial == 0 && b.whole > 0,
		fmt.Sprintf("0 of %s seen taken in part (%s)", count.Of(b.whole, "lock"), count.Of(b.snapshots, "snapshot")),
		fmt.Sprintf("%s seen whole, %d in part (%s)", count.Of(b.whole, "lock"), b.partial, count.Of(b.snapshots, "snapshot")))
	return v
}

// open gives each account its money.
func (b *bank) open(ctx context.Context) error {
	pipe := b.server.RDB.Pipeline()
	for _, key := range b.balances {
		pipe.Set(ctx, key, openingBalance, bankLife)
	}
	_, err := pipe.Exec(ctx)
	return err
}

// operate runs the workers until time is up, and says what the locks looked like meanwhile.
func (b *bank) operate(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	over := make(chan error, 1)
	go func() { over <- together(ctx, movers, b.work) }()
	for {
		select {
		case err := <-over:
			return err
		case <-time.After(time.Millisecond):
		}
		stored, err := b.stored(ctx, b.locks) // in one command, so that it sees them as they are at one moment
		if err != nil {
			cancel(err)
			return <-over
		}
		whole, partial := census(stored)
		b.snapshots++
		b.whole += whole
		b.partial += partial
		b.screen.Tell("transfers: %5d, snapshots of the locks: %5d", b.moved.Load(), b.snapshots)
	}
}

// work moves money at random. A transfer that was begun is brought to its end.
func (b *bank) work(ctx context.Context, _ int) error {
	for time.Now().Before(b.until) {
		from := rand.N(accounts)
		to := (from + 1 + rand.N(accounts-1)) % accounts
		if err := b.transfer(ctx, from, to); err != nil {
			return err
		}
		b.moved.Add(1)
	}
	return nil
}

// transfer moves money under the locks of both accounts. They are named in whatever order they
// come: a set is taken as one, so nobody can hold one key and wait for the other.
func (b *bank) transfer(ctx context.Context, from, to int) error {
	move := func(ctx context.Context) error { return b.move(ctx, from, to) }
	if b.broken {
		return move(ctx)
	}
	return b.client.With(ctx, []string{b.locks[from], b.locks[to]}, 10*time.Second, &redislock.Options{
		RetryStrategy: redislock.ExponentialBackoff(time.Millisecond, 10*time.Millisecond),
		Metadata:      fmt.Sprintf("%s accounts=%d,%d", redislock.InstanceMetadata(), from, to),
	}, move)
}

// move reads both balances, pauses, and writes both: what anybody else wrote meanwhile is lost.
func (b *bank) move(ctx context.Context, from, to int) error {
	read, err := b.read(ctx, b.balances[from], b.balances[to])
	if err != nil {
		return err
	}
	if err := sleep(ctx, 200*time.Microsecond); err != nil {
		return err
	}
	amount := rand.N(read[0] + 1)
	pipe := b.server.RDB.Pipeline()
	pipe.Set(ctx, b.balances[from], read[0]-amount, bankLife)
	pipe.Set(ctx, b.balances[to], read[1]+amount, bankLife)
	_, err = pipe.Exec(ctx)
	return err
}

// read returns the balances that some keys hold.
func (b *bank) read(ctx context.Context, keys ...string) ([]int, error) {
	texts, err := b.stored(ctx, keys)
	balances := make([]int, len(texts))
	for i, text := range texts {
		if balances[i], err = strconv.Atoi(text); err != nil {
			return nil, fmt.Errorf("%s: %w", keys[i], err)
		}
	}
	return balances, err
}

// stored is what some keys hold at one moment; empty: nothing.
func (b *bank) stored(ctx context.Context, keys []string) ([]string, error) {
	values, err := b.server.RDB.MGet(ctx, keys...).Result()
	texts := make([]string, len(values))
	for i, value := range values {
		texts[i], _ = value.(string)
	}
	return texts, err
}

// census counts the locks in a snapshot of what is stored for each account: those that have every
// account which their metadata names and no other, and those that do not.
func census(stored []string) (whole, partial int) {
	has := make(map[string][]string) // the accounts that have a value
	for i, value := range stored {
		if value != "" {
			has[value] = append(has[value], strconv.Itoa(i))
		}
	}
	for value, held := range has {
		_, named, _ := strings.Cut(value, " accounts=")
		wanted := strings.Split(named, ",")
		slices.Sort(wanted)
		slices.Sort(held)
		if slices.Equal(wanted, held) {
			whole++
		} else {
			partial++
		}
	}
	return whole, partial
}
