package measure

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/redistest"
)

// A Server is a Redis of this program's own, on a free port of the loopback. It ends with this
// process, however that ends.
type Server struct {
	process *redistest.Server
	asks    *redis.Client // INFO, and what prepares a measurement
	clients []*redis.Client
}

// StartServer starts a server and returns when it answers.
func StartServer() (*Server, error) {
	process, err := redistest.Launch(redistest.Redis)
	if err != nil {
		return nil, err
	}
	return &Server{process: process, asks: redis.NewClient(&redis.Options{Addr: process.Addr()})}, nil
}

// Addr is where the server listens.
func (s *Server) Addr() string { return s.process.Addr() }

// Client returns a new client, which is closed by Stop.
func (s *Server) Client() *redis.Client {
	client := redis.NewClient(&redis.Options{Addr: s.Addr()})
	s.clients = append(s.clients, client)
	return client
}

// Admin is a client for what is not measured.
func (s *Server) Admin() *redis.Client { return s.asks }

// Stop ends the process and returns when it is gone.
func (s *Server) Stop() {
	for _, client := range append(s.clients, s.asks) {
		_ = client.Close() // it has nothing to tell any more
	}
	s.process.Stop()
}

// Version is that of the server.
func (s *Server) Version(ctx context.Context) (string, error) {
	info, err := s.info(ctx, "server")
	return info["redis_version"], err
}

// Busy is for how long the main thread worked while something was done.
func (s *Server) Busy(ctx context.Context, do func() error) (time.Duration, error) {
	before, err := s.counters(ctx)
	if err != nil {
		return 0, err
	}
	if err := do(); err != nil {
		return 0, err
	}
	after, err := s.counters(ctx)
	return after.mainThread - before.mainThread, err
}

// Calls is how many scripts were executed so far.
func (s *Server) Calls(ctx context.Context) (int, error) {
	now, err := s.counters(ctx)
	return now.calls, err
}

// info reads a few sections of INFO.
func (s *Server) info(ctx context.Context, sections ...string) (map[string]string, error) {
	bySection, err := s.asks.InfoMap(ctx, sections...).Result()
	if err != nil {
		return nil, fmt.Errorf("info: %w", err)
	}
	all := map[string]string{}
	for _, section := range bySection {
		maps.Copy(all, section)
	}
	return all, nil
}

// counters are what a server has done so far.
type counters struct {
	mainThread, process time.Duration
	commands, calls     int
	bytes               int // received and sent
}

func (s *Server) counters(ctx context.Context) (counters, error) {
	info, err := s.info(ctx, "cpu", "stats", "commandstats")
	if err != nil {
		return counters{}, err
	}
	return readCounters(info)
}

func readCounters(info map[string]string) (c counters, err error) {
	for _, of := range []string{"user", "sys"} {
		main, err := strconv.ParseFloat(info["used_cpu_"+of+"_main_thread"], 64)
		if err != nil {
			return counters{}, fmt.Errorf("info: used_cpu_%s_main_thread: %w", of, err)
		}
		all, err := strconv.ParseFloat(info["used_cpu_"+of], 64)
		if err != nil {
			return counters{}, fmt.Errorf("info: used_cpu_%s: %w", of, err)
		}
		c.mainThread += time.Duration(main * 1e9)
		c.process += time.Duration(all * 1e9)
	}
	for _, way := range []string{"input", "output"} {
		bytes, err := strconv.Atoi(info["total_net_"+way+"_bytes"])
		if err != nil {
			return counters{}, fmt.Errorf("info: total_net_%s_bytes: %w", way, err)
		}
		c.bytes += bytes
	}
	err = c.count(info)
	return c, err
}

// count adds up the commands.
func (c *counters) count(info map[string]string) error {
	for name, value := range info {
		command, found := strings.CutPrefix(name, "cmdstat_")
		if !found {
			continue
		}
		text, _, _ := strings.Cut(strings.TrimPrefix(value, "calls="), ",")
		calls, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("info: %s: %w", name, err)
		}
		switch kind, _, _ := strings.Cut(command, "|"); kind {
		case "eval", "evalsha":
			c.calls += calls
		case "info", "hello", "client", "ping", "script", "command", "subscribe", "unsubscribe", "ssubscribe", "sunsubscribe":
			// What belongs to connections, and to measuring.
		default:
			c.commands += calls
		}
	}
	return nil
}
