package tune

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/internal/pace"
	"github.com/seed-14de3678/redislock/internal/slot"
)

//go:embed clear.lua
var clearScript string

// A server is where the load is played.
type server struct {
	*cli.Conn
	names []string // of all keys, without the prefix
	mark  string   // the metadata of every lock

	silent string // why it does not tell what it has used; empty: it does
}

// used asks how much processor time it has used so far, for everybody. After the first refusal nobody asks again.
func (s *server) used(ctx context.Context) (sum time.Duration) {
	if s.IsMini {
		s.silent = "the server inside the program does not count it"
	}
	if s.silent != "" {
		return 0
	}
	err := s.EachMaster(ctx, func(ctx context.Context, one *redis.Client) error {
		info, err := one.InfoMap(ctx, "cpu").Result()
		for _, field := range []string{"used_cpu_user", "used_cpu_sys"} {
			seconds, missing := strconv.ParseFloat(info["CPU"][field], 64)
			if err == nil && missing != nil {
				err = fmt.Errorf("it does not say %s", field)
			}
			sum += time.Duration(seconds * float64(time.Second))
		}
		return err
	})
	if err != nil && ctx.Err() == nil {
		s.silent = "INFO: " + err.Error()
		return 0
	}
	return sum
}

// fits reports why a Cluster cannot lock the keys as one.
func (s *server) fits(keys int) error {
	if _, ok := s.RDB.(*redis.ClusterClient); !ok || keys == 1 {
		return nil
	}
	for _, name := range s.names {
		if slot.Of(s.Prefix+name) != slot.Of(s.Prefix+s.names[0]) {
			return cli.Usagef("on a Cluster the keys of a lock are in one slot: give --pattern a hash tag, such as {orders}:%%d, or lock one key at a time")
		}
	}
	return nil
}

// beside are the names in Redis that a lock of a key may use, the key first.
func (s *server) beside(name string) []string {
	key := s.Prefix + name
	return []string{key, slot.Beside("line", key), slot.Beside("intent", key), slot.Beside("fence", key)}
}

// batch is how many keys are looked at with one pipeline.
const batch = 250

// unused makes sure that nobody has any of the keys, or something beside one.
func (s *server) unused(ctx context.Context) error {
	var found []string
	for names := range slices.Chunk(s.names, batch) {
		var asked []string
		answers, err := s.RDB.Pipelined(ctx, func(pipe redis.Pipeliner) error {
			for _, name := range names {
				for _, key := range s.beside(name) {
					asked = append(asked, key)
					pipe.Exists(ctx, key)
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("look whether the keys are in use: %w", err)
		}
		for i, answer := range answers {
			if n, ok := answer.(*redis.IntCmd); ok && n.Val() > 0 {
				found = append(found, asked[i])
			}
		}
	}
	if len(found) == 0 {
		return nil
	}
	more := ""
	if n := len(found) - 1; n > 0 {
		more = fmt.Sprintf(", and %d more", n)
	}
	return cli.Exit(cli.Failed, fmt.Errorf("the pattern touches keys that exist: %s%s; nothing was locked. Give a --pattern that nobody uses, or none",
		cli.Text(found[0]), more))
}

// takesLocks makes sure that the server grants a lock. The load would wait for one that takes none, a replica for example,
// until its time is up.
func (s *server) takesLocks(ctx context.Context, keys int, ttl time.Duration) error {
	client := s.Client()
	defer client.Close()
	lock, err := client.Obtain(ctx, s.names[:keys], ttl, &redislock.Options{Metadata: s.mark})
	if err != nil {
		return fmt.Errorf("no policy can be compared: %w", err)
	}
	return lock.Release(ctx)
}

// settling is how long one waits for a slice to leave nothing behind.
const settling = 5 * time.Second

// settle waits until nobody has a key or waits for one. Those who were cut short when a slice ended may still be leaving.
func (s *server) settle(ctx context.Context) error {
	client := s.Client()
	defer client.Close()
	for until := time.Now().Add(settling); ; {
		states, err := client.Inspect(ctx, s.names)
		if err != nil {
			return err
		}
		busy := slices.ContainsFunc(states, func(s redislock.KeyState) bool {
			return len(s.Holders)+len(s.Line) > 0 || s.Intent != nil
		})
		if !busy || time.Now().After(until) || !pace.Sleep(ctx, 2*time.Millisecond) {
			return context.Cause(ctx)
		}
	}
}

// tidying is how long clearing up may take.
const tidying = 10 * time.Second

// clear removes what the load has left. No process of it may run any more.
func (s *server) clear(ttl time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), tidying)
	defer cancel()
	for names := range slices.Chunk(s.names, batch) {
		_, err := s.RDB.Pipelined(ctx, func(pipe redis.Pipeliner) error {
			for _, name := range names {
				pipe.Eval(ctx, clearScript, s.beside(name)[:3], "|"+s.mark)
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("clear up: %w; what is left of %s ends within %s", err, cli.Text(strings.Join(s.names[:1], "")), ttl)
		}
	}
	return nil
}
