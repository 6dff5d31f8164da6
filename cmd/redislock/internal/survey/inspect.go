package survey

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/internal/slot"
)

// movePatience is how long the keys of a Cluster are asked about before it is looked whether their slots move.
const movePatience = 2 * time.Second

// inspect inspects some keys. While a slot of a Cluster moves from one master to another, no script may ask about a key and
// what stands beside it, if some of that has moved or does not exist. Then the keys of the slot are read without a script.
func (s *survey) inspect(ctx context.Context, keys []string) (states []redislock.KeyState, err error) {
	if _, ok := s.conn.RDB.(*redis.ClusterClient); !ok {
		return s.client.Inspect(ctx, keys)
	}
	still, moving := s.byMove(keys)
	soon, cancel := context.WithTimeout(ctx, movePatience) // which is less than the library waits for slots that move
	states, err = s.client.Inspect(soon, still)
	cancel()
	if err != nil && s.learnMoves(ctx, still) {
		still, moving = s.byMove(keys)
		states, err = s.client.Inspect(ctx, still)
	}
	if err != nil {
		return nil, err
	}
	for _, key := range moving {
		state, err := s.read(ctx, key)
		if err != nil {
			return nil, fmt.Errorf("look at %q: %w", key, err)
		}
		states = append(states, state)
	}
	return states, nil
}

// byMove tells the keys whose slots are where they were from the others.
func (s *survey) byMove(keys []string) (still, moving []string) {
	for _, key := range keys {
		if s.moving[slot.Of(s.conn.Prefix+key)] {
			moving = append(moving, key)
		} else {
			still = append(still, key)
		}
	}
	return still, moving
}

// learnMoves asks for several keys of each slot at once, which the server refuses while the slot moves. It reports whether
// the keys are to be inspected once more.
func (s *survey) learnMoves(ctx context.Context, keys []string) bool {
	for _, key := range keys {
		name := s.conn.Prefix + key
		err := s.conn.RDB.Exists(ctx, name, slot.Beside("line", name), slot.Beside("intent", name), slot.Beside("fence", name)).Err()
		switch {
		case redis.IsTryAgainError(err):
			s.moving[slot.Of(name)] = true
		case err != nil:
			return false
		}
	}
	return ctx.Err() == nil
}

// read tells of a key what it holds, and not what stands beside it.
func (s *survey) read(ctx context.Context, key string) (redislock.KeyState, error) {
	name, state := s.conn.Prefix+key, redislock.KeyState{Key: key, Mode: redislock.ModeFree}
	ttl, err := s.conn.RDB.PTTL(ctx, name).Result()
	if err != nil || ttl <= 0 {
		return state, err
	}
	state.TTL = ttl
	if !s.incomplete[key] {
		s.incomplete[key] = true
		s.notes.Moving++
	}
	value, err := s.conn.RDB.Get(ctx, name).Result()
	switch {
	case err == nil:
		state.Mode, state.Holders = redislock.ModeWrite, []redislock.Holder{holderOf(key, redislock.ModeWrite, value, ttl)}
		return state, nil
	case errors.Is(err, redis.Nil):
		return state, nil
	case !redis.HasErrorPrefix(err, "WRONGTYPE"):
		return state, err
	}
	state.Mode = redislock.ModeRead
	members, err := s.conn.RDB.ZRangeWithScores(ctx, name, 0, -1).Result()
	for _, m := range members {
		if left := time.Until(time.UnixMilli(int64(m.Score))); left > 0 {
			state.Holders = append(state.Holders, holderOf(key, redislock.ModeRead, fmt.Sprint(m.Member), left))
		}
	}
	return state, err
}

// holderOf tells of a value who has stored it.
func holderOf(key string, mode redislock.Mode, value string, ttl time.Duration) redislock.Holder {
	token, id, metadata := proto.DecodeValue(value)
	return redislock.Holder{Key: key, Mode: mode, Metadata: metadata, Caller: id, Left: token == "", TTL: ttl}
}
