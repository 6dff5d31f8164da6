package demo

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/internal/pace"
)

// A stage is what the acts have in common.
type stage struct {
	*demo
	server *cli.Conn
	prefix string // of every key
	client *redislock.Client
	screen *cli.Screen
	keys   []string // every one that was named
}

// tidyUp is how long clearing the stage may take.
const tidyUp = 3 * time.Second

func newStage(d *demo, srv *cli.Conn, scr *cli.Screen) *stage {
	prefix := cli.OwnPrefix("demo")
	if _, ok := srv.RDB.(*redis.ClusterClient); ok {
		prefix = "{" + prefix + "}:" // all keys in one slot
	}
	return &stage{
		demo: d, server: srv, prefix: prefix, client: redislock.New(srv.RDB), screen: scr,
	}
}

// key returns the name that a key has on this server, and takes note of it. An act names its keys before others play in it.
func (s *stage) key(format string, args ...any) string {
	name := s.prefix + fmt.Sprintf(format, args...)
	s.keys = append(s.keys, name)
	return name
}

// note writes a line of an act.
func (s *stage) note(format string, args ...any) { s.screen.Line("   "+format, args...) }

// span returns how long something takes that lasts for d at the usual pace.
func (s *stage) span(d time.Duration) time.Duration { return time.Duration(float64(d) * s.pace) }

// clear removes every key from the server and lets go of it. No act may be under way. What the
// locks have left, such as an intent, is seen to by closing their client.
func (s *stage) clear() error {
	s.client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), tidyUp)
	defer cancel()
	var err error
	if len(s.keys) > 0 {
		err = s.server.RDB.Del(ctx, s.keys...).Err()
	}
	if err = errors.Join(err, s.server.Close()); err != nil {
		return fmt.Errorf("clear up %s*: %w", s.prefix, err)
	}
	return nil
}

// together runs fn n times at once and waits for all of them. The first error ends the context of
// the others, and is returned.
func together(ctx context.Context, n int, fn func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			if err := fn(ctx, i); err != nil {
				cancel(err)
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

// sleep waits for d. It returns an error if ctx ends before.
func sleep(ctx context.Context, d time.Duration) error {
	if !pace.Sleep(ctx, d) {
		return context.Cause(ctx)
	}
	return nil
}
