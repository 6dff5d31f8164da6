package quorum_test

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/quorum"
)

// Obtain and Release of one key at a majority of five servers, compared with the least that can do it: the
// same two scripts with the same arguments, sent by go-redis alone, on five goroutines that run already, for
// a caller that waits for a majority as well. What is late is done behind its back by both. The two take turns,
// in blocks of so many operations.
//
//   - ours÷bare-wall: the operation of ours divided by that of the other. Of each block its median operation counts,
//     and of each side its median block. q1 and q3 are the quartiles of this ratio in blocks beside each other.
//   - ours÷bare-cpu: the same of the processor time of this process, with what is late
//   - ours÷one: compared with one of the servers and a [redislock.Client]
//   - *-µs: what an operation costs
func BenchmarkFanOut(b *testing.B) {
	const block = 200
	nodes, rdbs := make([]*redislock.Client, 5), make([]*redis.Client, 5)
	var server *redistest.Server
	for i := range nodes {
		server = redistest.Start(b, redistest.Redis)
		rdbs[i] = server.Client(b)
		nodes[i] = redislock.New(rdbs[i])
		b.Cleanup(nodes[i].Close)
	}
	client, err := quorum.New(nodes)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(client.Close)
	ctx := context.Background()
	fan := newFan(b, server, rdbs)
	sides := []*side{
		{name: "one", do: func() error {
			lock, err := nodes[0].Obtain(ctx, []string{"one"}, time.Minute, nil)
			if err != nil {
				return err
			}
			return lock.Release(ctx)
		}},
		{name: "bare", do: fan.do},
		{name: "ours", do: func() error {
			lock, err := client.Obtain(ctx, []string{"ours"}, time.Minute, nil)
			if err != nil {
				return err
			}
			return lock.Release(ctx)
		}},
	}
	for _, s := range []int{2, 1, 0} { // ours first, so that the servers know the scripts
		sides[s].block(b, block)
		sides[s].wall, sides[s].cpu = nil, nil
	}
	for b.Loop() {
		for _, s := range sides {
			s.block(b, block)
		}
		slices.Reverse(sides[1:]) // who comes first is not always the same
	}
	if sides[1].name != "bare" {
		slices.Reverse(sides[1:])
	}
	one, bare, ours := sides[0], sides[1], sides[2]
	for _, what := range []struct {
		name string
		of   func(*side) []float64
	}{
		{"wall", func(s *side) []float64 { return s.wall }},
		{"cpu", func(s *side) []float64 { return s.cpu }},
	} {
		low, _, high := quartiles(ratios(what.of(ours), what.of(bare)))
		b.ReportMetric(low, "ours÷bare-"+what.name+"-q1")
		b.ReportMetric(high, "ours÷bare-"+what.name+"-q3")
		b.ReportMetric(median(what.of(ours))/median(what.of(bare)), "ours÷bare-"+what.name)
		b.ReportMetric(median(what.of(ours))/median(what.of(one)), "ours÷one-"+what.name)
		for _, s := range sides {
			b.ReportMetric(median(what.of(s)), s.name+"-"+what.name+"-µs")
		}
	}
	b.ReportMetric(0, "ns/op")
}

// A side is one of those that are compared.
type side struct {
	name      string
	do        func() error
	wall, cpu []float64 // by block: µs of the median operation, µs of all of them divided by their number
}

func (s *side) block(b *testing.B, operations int) {
	b.Helper()
	took := make([]float64, operations)
	before := processorTime(b)
	for i := range took {
		began := time.Now()
		if err := s.do(); err != nil {
			b.Fatal(s.name, err)
		}
		took[i] = micros(time.Since(began))
	}
	time.Sleep(2 * time.Millisecond) // what is late is paid by those who leave it there
	s.cpu = append(s.cpu, micros(processorTime(b)-before)/float64(operations))
	s.wall = append(s.wall, median(took))
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// processorTime is what this process has used so far.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func ratios(of, by []float64) []float64 {
	all := make([]float64, len(of))
	for i := range of {
		all[i] = of[i] / by[i]
	}
	return all
}

func quartiles(of []float64) (low, middle, high float64) {
	sorted := slices.Sorted(slices.Values(of))
	n := len(sorted)
	return sorted[n/4], sorted[n/2], sorted[min(3*n/4, n-1)]
}

func median(of []float64) float64 {
	_, middle, _ := quartiles(of)
	return middle
}

// A fan sends the two scripts of an Obtain and a Release to several servers, with go-redis alone.
type fan struct {
	asks            []chan ask
	answers         chan answered
	obtain, release command
	turn            int
}

// A command runs a script, as a Client sends it.
type command struct {
	args  []any
	value int // where the value of the lock stands among them
}

func commandOf(cmd redis.Cmder) command {
	value := check.RunIn(cmd).Value
	return command{slices.Clone(cmd.Args()), slices.IndexFunc(cmd.Args(), func(arg any) bool {
		text, is := arg.(*string)
		return arg == any(value) || is && *text == value
	})}
}

type ask struct {
	turn int
	args []any
}

type answered struct {
	turn int
	err  error
}

// newFan looks at what a Client sends to one of the servers.
func newFan(b *testing.B, server *redistest.Server, rdbs []*redis.Client) *fan {
	b.Helper()
	ctx, f := context.Background(), &fan{answers: make(chan answered, 100)}
	var commands []command // that run a script
	watched := server.Client(b)
	watched.AddHook(check.Around{Before: func(cmd redis.Cmder) {
		if strings.HasPrefix(cmd.Name(), "eval") {
			commands = append(commands, commandOf(cmd))
		}
	}})
	client := redislock.New(watched)
	defer client.Close()
	for range 2 { // the first time with the sources of the scripts
		commands = nil
		lock, err := client.Obtain(ctx, []string{"bare"}, time.Minute, nil)
		if err != nil {
			b.Fatal(err)
		}
		if err := lock.Release(ctx); err != nil {
			b.Fatal(err)
		}
	}
	if len(commands) != 2 {
		b.Fatalf("got %d commands, want an obtain and a release", len(commands))
	}
	f.obtain, f.release = commands[0], commands[1]
	for _, rdb := range rdbs {
		asked := make(chan ask, 10)
		f.asks = append(f.asks, asked)
		b.Cleanup(func() { close(asked) })
		go func() {
			for a := range asked {
				f.answers <- answered{a.turn, rdb.Process(ctx, redis.NewCmd(ctx, a.args...))}
			}
		}()
	}
	return f
}

// do is one operation. Its token is a new one, as those of a Client are.
func (f *fan) do() error {
	token := owners.NewToken()
	return cmp.Or(f.all(f.obtain, token), f.all(f.release, token))
}

// all sends a command to all servers, and waits for a majority.
func (f *fan) all(c command, token string) error {
	args := slices.Clone(c.args)
	args[c.value] = token
	f.turn++
	for _, asked := range f.asks {
		asked <- ask{f.turn, args}
	}
	for yes := 0; yes <= len(f.asks)/2; {
		a := <-f.answers
		if a.err != nil {
			return a.err
		}
		if a.turn == f.turn {
			yes++
		}
	}
	return nil
}
