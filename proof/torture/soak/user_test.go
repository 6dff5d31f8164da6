package soak_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/pace"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/quorum"
)

// callers is how many goroutines of a user lock at the same time.
const callers = 24

// A process is what the user says of itself, as one line of JSON.
type process struct {
	Operations int64
	Refused    int64  // of them: somebody else had a key
	Lost       int64  // of them: the lock was lost before its end
	Failed     int64  // of them: any other error
	First      string // the first of these errors
	Heap       int64  // bytes that are alive after a collection
	Resident   int64  // bytes
	Goroutines int64
	Sockets    int64
	Over       bool // this is the last line: Goroutines and Sockets are those that are left
}

// user is the process that locks. Its arguments are how often it says how it is, the address of the server, and those of the
// three servers of a quorum. At a SIGTERM it ends everything, and says how it is then.
func user(args []string) {
	every, err := time.ParseDuration(args[0])
	if err != nil {
		panic(err)
	}
	u := newParty(args[1:])
	idle := u.look()
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGTERM)
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	for i := range callers {
		done.Go(func() { u.call(ctx, i) })
	}
	done.Go(func() { u.follow(ctx) })
	ticks := time.NewTicker(every)
	for {
		select {
		case <-ticks.C:
			say(u.look())
		case <-told:
			ticks.Stop()
			cancel()
			done.Wait()
			u.close()
			say(u.settle(idle))
			return
		}
	}
}

func say(p process) {
	if err := json.NewEncoder(os.Stdout).Encode(p); err != nil {
		panic(err)
	}
}

// A party is the Clients of the user, and what it counts.
type party struct {
	rdb    *redis.Client
	nodes  []*redis.Client
	client *redislock.Client
	most   *quorum.Client
	parts  []*redislock.Client // of the quorum

	operations, refused, lost, failed, next atomic.Int64

	first atomic.Pointer[string]
}

func newParty(addrs []string) *party {
	u := &party{rdb: redis.NewClient(&redis.Options{Addr: addrs[0]})}
	u.client = redislock.New(u.rdb, redislock.WithBreakNotices())
	for _, addr := range addrs[1:] {
		rdb := redis.NewClient(&redis.Options{Addr: addr})
		u.nodes = append(u.nodes, rdb)
		u.parts = append(u.parts, redislock.New(rdb))
	}
	most, err := quorum.New(u.parts)
	if err != nil {
		panic(err)
	}
	u.most = most
	return u
}

// call makes one operation after the other until ctx ends.
func (u *party) call(ctx context.Context, number int) {
	rng := rand.New(rand.NewPCG(uint64(number), 1))
	for ctx.Err() == nil {
		work := works[rng.IntN(len(works))]
		u.count(ctx, work.name, work.do(ctx, u, rng))
		pace.Sleep(ctx, time.Duration(rng.IntN(60))*time.Millisecond)
	}
}

// count adds one operation. What the end of ctx has ended is not counted.
func (u *party) count(ctx context.Context, name string, err error) {
	if ctx.Err() != nil {
		return
	}
	u.operations.Add(1)
	switch {
	case err == nil:
	case isConflict(err):
		u.refused.Add(1)
	case isLoss(err):
		u.lost.Add(1)
	default:
		u.failed.Add(1)
		text := name + ": " + err.Error()
		u.first.CompareAndSwap(nil, &text)
	}
}

// look says how the process is now.
func (u *party) look() process {
	heap := check.InUse().HeapAlloc
	p := process{
		Operations: u.operations.Load(), Refused: u.refused.Load(), Lost: u.lost.Load(), Failed: u.failed.Load(),
		Heap: int64(heap), Resident: resident(),
		Goroutines: int64(runtime.NumGoroutine()), Sockets: int64(redistest.OpenSockets()),
	}
	if first := u.first.Load(); first != nil {
		p.First = *first
	}
	return p
}

// close ends all Clients, and gives up all connections.
func (u *party) close() {
	u.most.Close()
	u.client.Close()
	_ = u.rdb.Close()
	for i := range u.nodes {
		u.parts[i].Close()
		_ = u.nodes[i].Close()
	}
}

// settle says how the process is when it has ended everything, once no more goroutines and sockets are there than at the
// beginning; or after a while, in which they had time to go.
func (u *party) settle(idle process) process {
	deadline := time.Now().Add(20 * time.Second)
	for {
		p := u.look()
		p.Over = true
		p.Goroutines -= idle.Goroutines
		p.Sockets -= idle.Sockets
		if p.Goroutines <= 0 && p.Sockets <= 0 || time.Now().After(deadline) {
			return p
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// resident is the memory of this process that is not swapped out, in bytes; 0 where /proc does not say.
func resident() int64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	var size, pages int64
	if _, err := fmt.Sscan(string(text), &size, &pages); err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}
