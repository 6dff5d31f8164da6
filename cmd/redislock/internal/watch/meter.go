package watch

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/internal/pace"
)

// A meter counts what a connection asks of the server, in commands as INFO commandstats counts them, and holds back what would
// be too much. It is safe for concurrent use.
type meter struct {
	*cli.Conn
	rate float64 // commands a second

	mu    sync.Mutex
	paid  time.Time // under mu; until then what was spent is paid off; not further back than the burst
	spent float64   // under mu; in all

	nodes sync.Map // of clients that have the hook
}

// burst is for how long a meter that was idle saves up.
const burst = time.Second

func newMeter(rate float64) *meter { return &meter{rate: rate} }

// openMetered connects to a server. What the connection does is counted from then on.
func openMetered(ctx context.Context, server *cli.Redis, rate float64) (m *meter, err error) {
	m = newMeter(rate)
	if m.Conn, err = server.Open(ctx); err != nil {
		return nil, err
	}
	if err := m.attach(ctx); err != nil {
		_ = m.Close() // nothing was done that could be lost
		return nil, err
	}
	return m, nil
}

func (m *meter) attach(ctx context.Context) error {
	hook := func(one *redis.Client) {
		if _, has := m.nodes.LoadOrStore(one, true); !has {
			one.AddHook(cli.Around(m.send))
		}
	}
	switch rdb := m.RDB.(type) {
	case *redis.Client:
		hook(rdb)
	case *redis.ClusterClient:
		rdb.OnNewNode(hook)
		return rdb.ForEachShard(ctx, func(_ context.Context, one *redis.Client) error {
			hook(one)
			return nil
		})
	}
	return nil
}

// take spends, as soon as there is something to spend. What costs much is paid off by those that come after it.
func (m *meter) take(ctx context.Context, cost float64) error {
	for {
		wait := m.tryTake(cost)
		if wait == 0 {
			return nil
		}
		if !pace.Sleep(ctx, wait) {
			return context.Cause(ctx)
		}
	}
}

// tryTake spends, or returns how long to wait.
func (m *meter) tryTake(cost float64) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	if wait := time.Until(m.paid); wait > 0 {
		return wait
	}
	if least := time.Now().Add(-burst); m.paid.Before(least) {
		m.paid = least
	}
	m.paid = m.paid.Add(time.Duration(cost / m.rate * float64(time.Second)))
	m.spent += cost
	return 0
}

// send holds back commands, and sends those of a pipeline in parts, so that the server has its work spread over time.
func (m *meter) send(ctx context.Context, cmds []redis.Cmder, send func([]redis.Cmder) error) (first error) {
	for len(cmds) > 0 {
		n, cost := m.part(cmds)
		err := m.take(ctx, cost)
		if err != nil {
			n = len(cmds)
			for _, cmd := range cmds {
				cmd.SetErr(err)
			}
		} else {
			err = send(cmds[:n])
		}
		if first == nil {
			first = err
		}
		cmds = cmds[n:]
	}
	return first
}

// part returns how many commands go together, and what they cost: as much as may be spent in a twentieth of a second, but one
// at least.
func (m *meter) part(cmds []redis.Cmder) (n int, cost float64) {
	for n < len(cmds) {
		more := costOf(cmds[n])
		if n > 0 && cost+more > m.rate/20 {
			break
		}
		n, cost = n+1, cost+more
	}
	return n, cost
}

// What commands cost: as many commands as the server counts, and more where one of them takes longer than most.
const (
	lookCost   = 12 // Inspect of one key: a script that runs 11 commands at most
	scriptCost = 3  // of a script, for each name that it is given; Inspect gives four for a key
	scanCost   = 10 // so many keys that SCAN passes take as long as one command
)

func costOf(cmd redis.Cmder) float64 {
	args := cmd.Args()
	switch strings.ToLower(cmd.Name()) {
	case "eval", "evalsha", "eval_ro", "evalsha_ro":
		if len(args) > 2 {
			return 1 + scriptCost*numberOf(args[2])
		}
	case "scan":
		for i := 2; i+1 < len(args); i++ {
			if name, _ := args[i].(string); strings.EqualFold(name, "count") {
				return max(1, numberOf(args[i+1])/scanCost)
			}
		}
	}
	return 1
}

func numberOf(arg any) float64 {
	switch n := arg.(type) {
	case int:
		return float64(n)
	case int64:
		return float64(n)
	}
	return 1
}
