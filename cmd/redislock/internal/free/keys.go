package free

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/internal/slot"
)

// inspect asks who holds the keys. It is an error if some of them hold something that is no lock; then it returns no states.
func inspect(ctx context.Context, client *redislock.Client, keys []string) ([]redislock.KeyState, error) {
	states, err := client.Inspect(ctx, keys)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, s := range states {
		if s.Mode == redislock.ModeForeign {
			names = append(names, fmt.Sprintf("%s is foreign: it holds a %s", cli.Text(s.Key), s.Type))
		}
	}
	switch len(names) {
	case 0:
		return states, nil
	case 1:
		return nil, cli.Exit(cli.NoLock, fmt.Errorf("%s that is no lock", names[0]))
	}
	return nil, cli.Exit(cli.NoLock, fmt.Errorf("%s: they are no locks", strings.Join(names, ", ")))
}

// mostTogether is how many keys one Break takes, as Client.Break has it by default.
const mostTogether = 1000

// partsOf splits keys into those that can be read or broken in one step: all of them, or on a Cluster those of each slot.
// They stay in order.
func partsOf(conn *cli.Conn, keys []string) [][]string {
	if _, ok := conn.RDB.(*redis.ClusterClient); !ok {
		return slices.Collect(slices.Chunk(keys, mostTogether))
	}
	bySlot, order := make(map[uint16][]string), []uint16(nil)
	for _, key := range keys {
		s := slot.Of(conn.Prefix + key)
		if bySlot[s] == nil {
			order = append(order, s)
		}
		bySlot[s] = append(bySlot[s], key)
	}
	var parts [][]string
	for _, s := range order {
		parts = slices.AppendSeq(parts, slices.Chunk(bySlot[s], mostTogether))
	}
	return parts
}
