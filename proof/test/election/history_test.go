package election_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/election"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// step is how often a leading process says that it leads.
const step = 3 * time.Millisecond

func init() {
	// candidate wants to lead until it is told to end: args are its name, the key, the ttl, how many replicas, and where
	// the server is, or the sentinels. It prints `at NUMBER TIME` as long as it leads by its lock's own word.
	redistest.RegisterRole("candidate", func(args []string) {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		ttl, _ := time.ParseDuration(args[2])
		replicas, _ := strconv.Atoi(args[3])
		client := redislock.New(connect(args[4:]), redislock.WithReplicas(replicas))
		c := election.Candidate{
			Client: client, Key: args[1], TTL: ttl, Metadata: args[0],
			Lost: func(_ context.Context, err error) { fmt.Println("lost", errors.Is(err, redislock.ErrLockLost)) },
		}
		err := c.Run(ctx, leadAloud)
		fmt.Println("over", err)
	})
}

func connect(addrs []string) redis.UniversalClient {
	if len(addrs) == 1 {
		return redis.NewClient(&redis.Options{Addr: addrs[0]})
	}
	return redis.NewFailoverClient(&redis.FailoverOptions{MasterName: addrs[0], SentinelAddrs: addrs[1:]})
}

// leadAloud says that it leads, and at which moments. The moment is taken first: if the lock is certain after it, it was at it.
func leadAloud(ctx context.Context) error {
	lock := redislock.FromContext(ctx)
	for ctx.Err() == nil {
		at := time.Now()
		if ctx.Err() == nil && at.Before(lock.Deadline()) {
			fmt.Println("at", lock.Fence(), at.UnixNano())
		}
		time.Sleep(step)
	}
	return nil
}

// A reign is the time for which a process has said that it leads under one number.
type reign struct {
	who         string
	number      int64
	first, last time.Time
}

// A history is what processes say, by their number.
type history struct {
	mu     sync.Mutex
	reigns map[int64]*reign
	lost   map[string]int // by name, how often
	faults []string

	peers []*peer // of the test
}

// A peer is a candidate in a process of its own.
type peer struct {
	*redistest.Process
	name string
	read chan struct{} // closed when all that it has said is in the history
}

// end kills the process, and returns when all that it has said is in the history.
func (p *peer) end() {
	p.Kill()
	<-p.read
}

// enter starts a process, and waits until it leads or stands in line.
func (h *history) enter(t *testing.T, name, key string, ttl time.Duration, replicas int, addrs ...string) *peer {
	t.Helper()
	p := &peer{redistest.StartRole(t, "candidate", append([]string{name, key, ttl.String(), strconv.Itoa(replicas)}, addrs...)...), name, make(chan struct{})}
	go func() {
		defer close(p.read)
		h.read(p)
	}()
	t.Cleanup(p.end)
	h.peers = append(h.peers, p)
	return p
}

// resign tells the process to end.
func (p *peer) resign(t *testing.T) {
	t.Helper()
	process := check.Must[*os.Process](t)(os.FindProcess(p.PID()))
	check.NoError(t, process.Signal(syscall.SIGTERM))
}

func (h *history) read(p *peer) {
	for {
		line, err := p.ReadLine(time.Minute)
		if errors.Is(err, io.EOF) {
			return
		}
		h.mu.Lock()
		h.note(p.name, line, err)
		h.mu.Unlock()
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return
		}
	}
}

// note takes in one line.
func (h *history) note(who, line string, err error) {
	words := strings.Fields(line)
	switch {
	case err != nil: // it stands in line, or still
	case len(words) == 3 && words[0] == "at":
		number, _ := strconv.ParseInt(words[1], 10, 64)
		nanos, _ := strconv.ParseInt(words[2], 10, 64)
		at := time.Unix(0, nanos)
		r := h.reigns[number]
		if r == nil {
			r = &reign{who, number, at, at}
			h.reigns[number] = r
		}
		if r.who != who || number <= 0 {
			h.faults = append(h.faults, fmt.Sprintf("%s and %s both have number %d", r.who, who, number))
		}
		r.last = at
	case line == "lost true":
		h.lost[who]++
	case line != "over <nil>":
		h.faults = append(h.faults, who+" says "+line)
	}
}

func newHistory() *history {
	return &history{reigns: make(map[int64]*reign), lost: make(map[string]int)}
}

// latest returns the latest reign that has begun after the one with this number.
func (h *history) latest(after int64) (latest reign, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for number, r := range h.reigns {
		if number > after {
			after, latest, ok = number, *r, true
		}
	}
	return latest, ok
}

// next waits for the reign after the one with this number.
func (h *history) next(t *testing.T, after int64) reign {
	t.Helper()
	var r reign
	check.Eventually(t, 40*time.Second, "somebody leads", func() (ok bool) {
		r, ok = h.latest(after)
		return ok
	})
	return r
}

// goesOn waits until a reign has gone on for so long.
func (h *history) goesOn(t *testing.T, r reign, until time.Time) {
	t.Helper()
	check.Eventually(t, 40*time.Second, r.who+" leads on", func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.reigns[r.number].last.After(until)
	})
}

// wantOneAtATime ends the processes, and checks that each reign had ended before the next one began, by what the processes have said, and that they
// come in the order of their numbers.
func (h *history) wantOneAtATime(t *testing.T) {
	t.Helper()
	for _, p := range h.peers {
		p.end()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, fault := range h.faults {
		t.Error(fault)
	}
	var all []*reign
	for _, r := range h.reigns {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b *reign) int { return cmp.Compare(a.number, b.number) })
	for i, r := range all {
		t.Logf("%s led for %v, under number %d", r.who, r.last.Sub(r.first).Round(time.Millisecond), r.number)
		if i == 0 {
			continue
		}
		if before := all[i-1]; !before.last.Before(r.first) {
			t.Errorf("%s (number %d) led until %v, and %s (number %d) since %v, %v before that",
				before.who, before.number, before.last, r.who, r.number, r.first, before.last.Sub(r.first))
		}
	}
}
