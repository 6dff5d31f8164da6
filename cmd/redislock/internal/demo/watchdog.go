package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
)

// playWatchdog has a short lease renewed, then takes the key away and sees when that is told.
func playWatchdog(ctx context.Context, s *stage) (verdict, error) {
	key := s.key("job:1")
	lock, err := s.client.Obtain(ctx, []string{key}, s.lease, &redislock.Options{
		Watchdog: !s.broken, Metadata: redislock.InstanceMetadata(),
	})
	if err != nil {
		return verdict{}, err
	}
	defer lock.Release(ctx) //nolint:errcheck // it is lost by then
	held := lock.Context(ctx)

	began := time.Now()
	ttls, err := s.sample(ctx, lock)
	if err != nil {
		return verdict{}, err
	}
	lived := time.Since(began)
	s.note("TTL every %s: %s", cli.Duration(s.lease/4), listed(ttls))

	if err := s.server.RDB.Del(ctx, key).Err(); err != nil {
		return verdict{}, err
	}
	deleted := time.Now()
	select {
	case <-held.Done():
	case <-time.After(2 * s.lease):
	}
	told := time.Since(deleted)
	if err := context.Cause(ctx); err != nil {
		return verdict{}, err
	}
	cause := context.Cause(held)
	s.note("DEL %q: after %s the holder's context ends, cause %q", key, cli.Duration(told), fmt.Sprint(cause))
	s.note("(a renewal is due every %s)", cli.Duration(s.lease/3))

	var v verdict
	v.check(slices.Min(ttls) > 0 && lived > s.lease,
		fmt.Sprintf("a lease of %s lived for %s", cli.Duration(s.lease), cli.Duration(lived)),
		fmt.Sprintf("a lease of %s ended within %s", cli.Duration(s.lease), cli.Duration(lived)))
	v.check(errors.Is(cause, redislock.ErrLockLost) && told <= s.lease,
		fmt.Sprintf("the holder knew of the loss after %s", cli.Duration(told)),
		fmt.Sprintf("the holder did not know of the loss within the lease: cause %v after %s", cause, cli.Duration(told)))
	return v, nil
}

// sample asks for the TTL, several times within each lease, for four of them. A lock that is no
// longer held has none.
func (s *stage) sample(ctx context.Context, lock *redislock.Lock) ([]time.Duration, error) {
	var ttls []time.Duration
	for end := time.Now().Add(max(s.span(4*s.lease), 2*s.lease)); time.Now().Before(end); {
		ttl, err := lock.TTL(ctx)
		if err != nil && !errors.Is(err, redislock.ErrLockNotHeld) {
			return nil, err
		}
		ttls = append(ttls, ttl)
		bar := strings.Repeat("█", int(40*ttl/s.lease))
		s.screen.Tell("TTL %5s %s", cli.Duration(ttl), bar)
		if err := sleep(ctx, s.lease/4); err != nil {
			return nil, err
		}
	}
	return ttls, nil
}

func listed(all []time.Duration) string {
	texts := make([]string, len(all))
	for i, d := range all {
		texts[i] = cli.Duration(d)
	}
	return strings.Join(texts, " ")
}
