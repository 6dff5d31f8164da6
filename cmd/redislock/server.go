package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// reachable is how long a server may take to answer for the first time.
const reachable = 3 * time.Second

// A server is what the demo runs against.
type server struct {
	rdb    *redis.Client
	name   string // for people; without what the url has of a password
	prefix string // of every key
	stop   func() // ends a server inside the program
}

// openServer connects to the server at a URL, or starts one inside the program.
func openServer(ctx context.Context, rawURL string) (*server, error) {
	if rawURL == "" {
		return embed()
	}
	opt, err := redis.ParseURL(rawURL)
	if err != nil {
		if _, ok := errors.AsType[*url.Error](err); ok {
			err = errors.New("it cannot be parsed") // its text has the url in it, with the password
		}
		return nil, usageError(fmt.Sprintf("-redis takes a url such as redis://user:password@localhost:6379/0: %v", err))
	}
	redis.SetLogger(silence{}) // what it says is in the errors, too
	run := strings.ToLower(rand.Text()[:8])
	s := &server{
		rdb:    redis.NewClient(opt),
		name:   fmt.Sprintf("%s, database %d", opt.Addr, opt.DB),
		prefix: "redislock-demo-" + run + ":",
		stop:   func() {},
	}
	if err := s.ping(ctx); err != nil {
		_ = s.rdb.Close() // nothing was done that could be lost
		return nil, fmt.Errorf("cannot use the server at %s: %w", opt.Addr, err)
	}
	return s, nil
}

// ping asks for a sign of life. It does not wait for it when ctx ends, or beyond a time that
// people wait, whatever the time-outs of the connection are.
func (s *server) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, reachable, fmt.Errorf("no answer within %s", reachable))
	defer cancel()
	answer := make(chan error, 1)
	go func() { answer <- s.rdb.Ping(ctx).Err() }()
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// embed starts a server inside the program, on a port of the loopback.
func embed() (*server, error) {
	mini := miniredis.NewMiniRedis()
	mini.ClockTTL(true) // otherwise a time-to-live would stand still
	if err := mini.StartAddr("127.0.0.1:0"); err != nil {
		return nil, fmt.Errorf("start a server: %w", err)
	}
	return &server{
		rdb:  redis.NewClient(&redis.Options{Addr: mini.Addr()}),
		name: "a miniredis inside the program",
		stop: mini.Close,
	}, nil
}

// close ends the connections, and the server if it is ours.
func (s *server) close() error {
	err := s.rdb.Close()
	s.stop()
	return err
}

// silence is a logger that writes nothing.
type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}
