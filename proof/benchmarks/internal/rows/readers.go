package rows

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/slot"
	"github.com/seed-14de3678/redislock/proof/internal/measure"
)

// A crowded key has readers who were put in directly.
type crowdedKey struct {
	name          string
	live, expired int
	fenced        bool
}

// readers come, renew and go beside others.
func readers(ctx context.Context, s *stage) (*report, error) {
	servers, err := s.start(1)
	if err != nil {
		return nil, err
	}
	rdb := servers[0].Admin()
	client := redislock.New(servers[0].Client())
	s.finally(client.Close)
	var sides []measure.Side
	add := func(name string, key crowdedKey) {
		key.name = fmt.Sprintf("readers:%s:%d", name, key.live+key.expired)
		side := measure.Side{Name: name, At: key.live + key.expired, Servers: servers, Block: key.cycle(client)}
		if key.expired > 0 {
			side.Before = func(ctx context.Context) error { return key.fill(ctx, rdb) }
		} else if err == nil {
			err = key.fill(ctx, rdb)
		}
		sides = append(sides, side)
	}
	for _, n := range []int{0, 10, 1000, 3000, 10000} {
		add("live", crowdedKey{live: n})
		add("fenced", crowdedKey{live: n, fenced: true})
	}
	add("expired", crowdedKey{live: 1, expired: 9})
	add("expired", crowdedKey{live: 1000, expired: 9000})
	if err != nil {
		return nil, err
	}
	results, err := s.interleave(ctx, s.plan, sides)
	if err != nil {
		return nil, err
	}
	r := &report{}
	r.add(results, measure.ServerCPU, measure.Commands, measure.Network)
	few := func(name string) measure.Result { return resultOf(results, name, 10) }
	for _, name := range []string{"live", "fenced", "expired"} {
		r.atMost(1.3, ratio("server CPU, by that with 10 readers: "+name, 10000),
			measure.Ratio(resultOf(results, name, 10000), few(name), measure.ServerCPU))
	}
	left, err := expiredLeft(ctx, rdb, client)
	if err != nil {
		return nil, err
	}
	r.atMost(0, counted("of 9 000 expired readers, those left after 600 others", 10000), measure.Exactly(float64(left)))
	return r, nil
}

// expiredLeft says how many of 9 000 expired readers a key still has after some cycles.
func expiredLeft(ctx context.Context, rdb *redis.Client, client *redislock.Client) (int64, error) {
	key := crowdedKey{name: "readers:left", live: 1000, expired: 9000}
	if err := key.fill(ctx, rdb); err != nil {
		return 0, err
	}
	for range 600 { // each of them drops a few
		if err := key.once(ctx, client); err != nil {
			return 0, err
		}
	}
	return rdb.ZCount(ctx, key.name, "-inf", fmt.Sprint(time.Now().UnixMilli())).Result()
}

func (k crowdedKey) cycle(client *redislock.Client) func(context.Context, time.Duration) (int, error) {
	return measure.Repeat(func(ctx context.Context) error { return k.once(ctx, client) })
}

// once is one reader more, from its coming to its going.
func (k crowdedKey) once(ctx context.Context, client *redislock.Client) error {
	lock, err := client.ObtainRead(ctx, []string{k.name}, ttl, &redislock.Options{Fenced: k.fenced})
	if err != nil {
		return err
	}
	if err := lock.Refresh(ctx, ttl); err != nil {
		return err
	}
	return lock.Release(ctx)
}

// fill puts the readers in directly, as many at a time as one command takes well: tokens like those
// that are generated, and leases that end at different moments.
func (k crowdedKey) fill(ctx context.Context, rdb *redis.Client) error {
	if k.live+k.expired == 0 {
		return nil
	}
	fences := slot.Beside("fence", k.name)
	if err := rdb.Del(ctx, k.name, fences).Err(); err != nil {
		return err
	}
	now := time.Now()
	var members []redis.Z
	for i := range k.live + k.expired {
		end := now.Add(ttl + time.Duration(i)*time.Millisecond)
		if i < k.expired {
			end = now.Add(-time.Duration(1+i) * time.Millisecond)
		}
		members = append(members, redis.Z{Score: float64(end.UnixMilli()), Member: token()})
	}
	for chunk := range slices.Chunk(members, 500) {
		if err := rdb.ZAdd(ctx, k.name, chunk...).Err(); err != nil {
			return err
		}
		if !k.fenced {
			continue
		}
		numbers := []any{"", now.UnixMicro()}
		for _, m := range chunk {
			numbers = append(numbers, m.Member, now.UnixMicro())
		}
		if err := rdb.HSet(ctx, fences, numbers...).Err(); err != nil {
			return err
		}
	}
	if k.fenced {
		if err := rdb.PExpire(ctx, fences, 24*time.Hour).Err(); err != nil {
			return err
		}
	}
	return rdb.PExpireAt(ctx, k.name, now.Add(2*ttl)).Err()
}

// token is like those that the library generates.
func token() string {
	var random [16]byte
	_, _ = rand.Read(random[:]) // it never fails
	return base64.RawURLEncoding.EncodeToString(random[:])
}
