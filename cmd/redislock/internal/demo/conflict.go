package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
)

// conflictTTL is more than the act takes.
const conflictTTL = 30 * time.Second

// playConflict has one caller refused by another, and looks at it from both sides.
func playConflict(ctx context.Context, s *stage) (verdict, error) {
	order, stock, account := s.key("order:7"), s.key("stock:9"), s.key("account:3")
	tag := &redislock.Options{Metadata: redislock.InstanceMetadata()}

	holder, err := s.client.Obtain(ctx, []string{order, stock}, conflictTTL, tag)
	if err != nil {
		return verdict{}, err
	}
	defer holder.Release(ctx) //nolint:errcheck // it was released before, or its TTL ends it
	if s.broken {
		_ = holder.Release(ctx)
	}
	wanted := []string{stock, account}
	s.note("Obtain %q:", wanted)
	refusal := s.attempt(ctx, wanted)
	s.note("  %s", s.screen.Paint(cli.Red, fmt.Sprint(refusal)))

	states, err := s.client.Inspect(ctx, []string{order, stock, account})
	if err != nil {
		return verdict{}, err
	}
	s.show(states)

	var v verdict
	conflict, ok := errors.AsType[*redislock.ConflictError](refusal)
	v.check(ok && errors.Is(refusal, redislock.ErrNotObtained) && conflict.Key == stock &&
		conflict.Metadata == tag.Metadata && conflict.TTL > 0 && conflict.TTL <= conflictTTL,
		"refused, by key and holder", fmt.Sprintf("not refused by the holder of %q: %v", stock, refusal))
	v.check(states[2].Mode == redislock.ModeFree, "the third key was left alone", "the third key is not free")
	if !s.broken {
		if err := holder.Release(ctx); err != nil {
			return verdict{}, err
		}
	}
	again := s.attempt(ctx, wanted)
	v.check(again == nil, "obtained after the Release", fmt.Sprintf("refused after the Release: %v", again))
	return v, nil
}

// attempt obtains a set once, and releases it.
func (s *stage) attempt(ctx context.Context, keys []string) error {
	lock, err := s.client.Obtain(ctx, keys, conflictTTL, nil)
	if err != nil {
		return err
	}
	return lock.Release(ctx)
}

// show tells who holds what.
func (s *stage) show(states []redislock.KeyState) {
	s.note("Inspect:")
	for _, state := range states {
		line := fmt.Sprintf("  %-*s %s", len(s.prefix)+9, state.Key, state.Mode)
		for _, holder := range state.Holders {
			line += fmt.Sprintf("  %s, %s left", holder.Metadata, cli.Duration(holder.TTL))
		}
		s.note("%s", line)
	}
}
