package soak_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/election"
	"github.com/seed-14de3678/redislock/held"
	"github.com/seed-14de3678/redislock/internal/pace"
	"github.com/seed-14de3678/redislock/multi"
	"github.com/seed-14de3678/redislock/reentrant"
)

const lease = 2 * time.Second

// works are what a caller does, each as likely as the others.
var works = []struct {
	name string
	do   func(ctx context.Context, u *party, rng *rand.Rand) error
}{
	{"new names", newNames},
	{"sets", sets},
	{"line", line},
	{"polling", polling},
	{"readers", readers},
	{"fenced", fenced},
	{"with", with},
	{"given up", givenUp},
	{"conversions", conversions},
	{"leave", leave},
	{"broken", broken},
	{"token", token},
	{"parts", parts},
	{"owner", owner},
	{"majority", majority},
	{"leader", leader},
	{"inspect", inspect},
}

func isConflict(err error) bool { return errors.Is(err, redislock.ErrNotObtained) }

// isLoss reports whether a lock was lost, which is no defect where the machine is so busy that no renewal comes in time.
func isLoss(err error) bool {
	return errors.Is(err, redislock.ErrLockLost) || errors.Is(err, redislock.ErrLockNotHeld)
}

// some returns one to three of twelve keys, which are the same for all callers.
func some(rng *rand.Rand, kind string) []string {
	keys := make([]string, 1+rng.IntN(3))
	for i := range keys {
		keys[i] = fmt.Sprintf("soak:%s:%d", kind, rng.IntN(12))
	}
	return keys
}

func (u *party) waiting() *redislock.Options {
	return &redislock.Options{Queue: true, Wait: 3 * time.Second, Name: "soak", Metadata: "host=soak"}
}

// end releases a lock after a moment.
func end(ctx context.Context, lock held.Lock, err error, rng *rand.Rand) error {
	if err != nil {
		return err
	}
	pace.Sleep(ctx, time.Duration(rng.IntN(10))*time.Millisecond)
	return lock.Release(context.WithoutCancel(ctx))
}

// newNames locks names that nobody has locked before: what a process remembers of a name has to be forgotten.
func newNames(ctx context.Context, u *party, rng *rand.Rand) error {
	n := u.next.Add(1)
	lock, err := u.client.Obtain(ctx, []string{fmt.Sprintf("soak:new:%d", n), fmt.Sprintf("soak:newer:%d", n)}, lease, u.waiting())
	return end(ctx, lock, err, rng)
}

func sets(ctx context.Context, u *party, rng *rand.Rand) error {
	lock, err := u.client.Obtain(ctx, some(rng, "set"), lease, nil)
	return end(ctx, lock, err, rng)
}

func line(ctx context.Context, u *party, rng *rand.Rand) error {
	lock, err := u.client.ObtainSet(ctx, redislock.Set{Write: some(rng, "line"), Read: some(rng, "line")}, lease, u.waiting())
	return end(ctx, lock, err, rng)
}

func polling(ctx context.Context, u *party, rng *rand.Rand) error {
	lock, err := u.client.Obtain(ctx, some(rng, "poll"), lease, &redislock.Options{
		RetryStrategy: redislock.LimitRetry(redislock.ExponentialBackoff(5*time.Millisecond, 100*time.Millisecond), 10),
		Intent:        true, Wait: 2 * time.Second,
	})
	return end(ctx, lock, err, rng)
}

func readers(ctx context.Context, u *party, rng *rand.Rand) error {
	lock, err := u.client.ObtainRead(ctx, some(rng, "line"), lease, u.waiting())
	return end(ctx, lock, err, rng)
}

func fenced(ctx context.Context, u *party, rng *rand.Rand) error {
	opt := u.waiting()
	opt.Fenced = true
	lock, err := u.client.Obtain(ctx, some(rng, "fence"), lease, opt)
	return end(ctx, lock, err, rng)
}

// with works for longer than a lease now and then, so that the watchdog has to renew it.
func with(ctx context.Context, u *party, rng *rand.Rand) error {
	key := fmt.Sprintf("soak:with:%d", u.next.Add(1))
	return u.client.With(ctx, []string{key}, lease/2, nil, func(ctx context.Context) error {
		pace.Sleep(ctx, time.Duration(rng.IntN(3000))*time.Millisecond)
		return nil
	})
}

// givenUp ends its context while it waits, or while the request is under way.
func givenUp(ctx context.Context, u *party, rng *rand.Rand) error {
	short, cancel := context.WithTimeout(ctx, time.Duration(rng.IntN(20))*time.Millisecond)
	defer cancel()
	lock, err := u.client.Obtain(short, some(rng, "line"), lease, &redislock.Options{Queue: true})
	if errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return end(ctx, lock, err, rng)
}

func conversions(ctx context.Context, u *party, rng *rand.Rand) error {
	lock, err := u.client.Obtain(ctx, some(rng, "line"), lease, u.waiting())
	if err != nil {
		return err
	}
	err = errors.Join(lock.Downgrade(ctx), lock.Refresh(ctx, lease))
	if up := lock.Upgrade(ctx); !isConflict(up) {
		err = errors.Join(err, up)
	}
	if keys := lock.Keys(); len(keys) > 1 {
		err = errors.Join(err, lock.ReleaseKeys(ctx, keys[:1]))
	}
	return errors.Join(err, lock.Release(context.WithoutCancel(ctx)))
}

func leave(ctx context.Context, u *party, rng *rand.Rand) error {
	key := fmt.Sprintf("soak:leave:%d", u.next.Add(1))
	lock, err := u.client.Obtain(ctx, []string{key}, lease, &redislock.Options{HoldAtLeast: 500 * time.Millisecond})
	return end(ctx, lock, err, rng)
}

// broken has its own lock broken, and waits until it learns of that.
func broken(ctx context.Context, u *party, _ *rand.Rand) error {
	key := fmt.Sprintf("soak:break:%d", u.next.Add(1))
	lock, err := u.client.Obtain(ctx, []string{key}, lease, &redislock.Options{Watchdog: true})
	if err != nil {
		return err
	}
	_, err = u.client.Break(ctx, []string{key}, "soak")
	if err == nil {
		select {
		case <-lock.Lost():
		case <-ctx.Done():
		case <-time.After(10 * lease):
			err = errors.New("a holder has not learned that its lock was broken")
		}
	}
	if released := lock.Release(context.WithoutCancel(ctx)); err == nil && !errors.Is(released, redislock.ErrLockNotHeld) {
		err = released
	}
	return err
}

// token has two handles on one hold.
func token(ctx context.Context, u *party, rng *rand.Rand) error {
	n := u.next.Add(1)
	key, name := fmt.Sprintf("soak:token:%d", n), fmt.Sprintf("token-%d", n)
	if _, err := u.client.As(name).Obtain(ctx, []string{key}, lease, nil); err != nil {
		return err
	}
	other := u.client.Attach([]string{key}, name)
	return end(ctx, other, other.Refresh(ctx, lease), rng)
}

func parts(ctx context.Context, u *party, rng *rand.Rand) error {
	opt := u.waiting()
	opt.Watchdog = true
	lock, err := multi.Obtain(ctx, multi.BySlot(u.client, redislock.Set{Write: some(rng, "part"), Read: some(rng, "part")}), lease, opt)
	return end(ctx, lock, err, rng)
}

func owner(ctx context.Context, u *party, rng *rand.Rand) error {
	ctx = reentrant.NewOwner(ctx)
	keys := some(rng, "owner")
	hold, err := reentrant.Obtain(ctx, u.client, keys, lease, u.waiting())
	if err != nil {
		return err
	}
	again, err := reentrant.Obtain(ctx, u.client, keys[:1], lease, nil)
	return errors.Join(end(ctx, again, err, rng), hold.Release(context.WithoutCancel(ctx)))
}

func majority(ctx context.Context, u *party, rng *rand.Rand) error {
	lock, err := u.most.Obtain(ctx, some(rng, "majority"), lease, &redislock.Options{
		RetryStrategy: redislock.LinearBackoff(20 * time.Millisecond), Wait: 2 * time.Second,
	})
	return end(ctx, lock, err, rng)
}

// leader stands for election for a moment.
func leader(ctx context.Context, u *party, rng *rand.Rand) error {
	short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	key := fmt.Sprintf("soak:leader:%d", rng.IntN(3))
	err := election.Elect(short, u.client, key, lease, func(ctx context.Context) error {
		pace.Sleep(ctx, time.Duration(rng.IntN(50))*time.Millisecond)
		return nil
	})
	if short.Err() != nil {
		return nil // it was another one's term
	}
	return err
}

func inspect(ctx context.Context, u *party, rng *rand.Rand) error {
	_, err := u.client.Inspect(ctx, some(rng, "line"))
	return err
}

// follow asks who leads, for as long as the process runs.
func (u *party) follow(ctx context.Context) {
	for _, err := range election.Follow(ctx, "soak:leader:0", 200*time.Millisecond, u.client) {
		if err != nil {
			pace.Sleep(ctx, 200*time.Millisecond)
		}
	}
}
