package matrix_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// realEye looks at a server over a connection of its own.
type realEye struct{ rdb *redis.Client }

func (e realEye) look(key string) stored {
	ctx, pipe := context.Background(), e.rdb.Pipeline()
	kind, ttl, value := pipe.Type(ctx, key), pipe.PTTL(ctx, key), pipe.Get(ctx, key)
	members, now := pipe.ZRangeWithScores(ctx, key, 0, -1), pipe.Time(ctx)
	intent, fences := pipe.Get(ctx, beside("intent", key)), pipe.HGetAll(ctx, beside("fence", key))
	line := pipe.ZRange(ctx, beside("line", key), 0, -1)
	_, _ = pipe.Exec(ctx) // of two commands for a key one is of another type
	v := stored{leases: make(map[string]time.Duration), intent: intent.Val(), line: waitersOf(line.Val())}
	switch kind.Val() {
	case "string":
		v.leases[value.Val()] = ttl.Val()
	case "zset":
		for _, each := range members.Val() {
			if left := time.UnixMilli(int64(each.Score)).Sub(now.Val()); left > 0 {
				v.leases[each.Member.(string)] = left
			}
		}
	}
	if len(v.leases) > 0 {
		v.kind, v.ttl = kind.Val(), ttl.Val()
	}
	if len(fences.Val()) > 0 {
		v.fences = fences.Val()
	}
	return v
}

// realSite is a real server behind a relay of its own.
func realSite(t *testing.T, b redistest.Backend, rdb *redis.Client, patience time.Duration) site {
	t.Helper()
	relay := redistest.NewRelay(t, b.Addr())
	return site{
		dial: func() (net.Conn, error) { return net.Dial("tcp", relay.Addr()) },
		keep: func(words []string) func() []byte {
			return relay.Keep(func(_ string, args []string) bool { return slices.Equal(args, words[1:]) }).Deliver
		},
		eye:    realEye{rdb},
		slack:  2 * time.Second,
		brief:  500 * time.Millisecond,
		settle: func() {},
		real:   patience,
	}
}

// runReal runs cells on a real server, many at a time: they wait most of the time.
func runReal(t *testing.T, b redistest.Backend, ids []cellID, patience time.Duration, hooks []redis.Hook) map[string][]string {
	t.Helper()
	rdb := b.Client(t, func(opt *redis.Options) { opt.PoolSize = 64 })
	for _, s := range proto.Scripts() {
		check.NoError(t, rdb.ScriptLoad(t.Context(), s.Source()).Err())
	}
	var mu sync.Mutex
	failed := make(map[string][]string)
	var next atomic.Int64
	var workers sync.WaitGroup
	run := rand.Uint32()
	for range min(24, len(ids)) {
		place := realSite(t, b, rdb, patience)
		place.hooks = hooks
		workers.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(ids) {
					return
				}
				place.prefix = fmt.Sprintf("matrix:%d:%d:", run, i)
				c := newCell(t, place, ids[i])
				faults, void := c.run()
				if void != "" {
					t.Errorf("%v means nothing: %s", ids[i], void)
				}
				if len(faults) > 0 {
					mu.Lock()
					failed[ids[i].String()] = append(faults, c.notes...)
					mu.Unlock()
				}
			}
		})
	}
	workers.Wait()
	return failed
}

// realCells are cells for real servers: those of the lines that are followed by one operation, and so many others
// by chance, some of them with lines too. Unless long is set, none may have to wait until a lease ends that a late request
// began under a token that nobody knows any more: that takes one or two minutes.
func realCells(seed uint64, lined, others int, long bool) []cellID {
	var all, more []cellID
	for _, id := range slices.Concat(cellsOf(lineRows()), bubbleCells()) {
		switch {
		case !id.bears() || !long && !id.row.line && id.row.generated && id.way == 'G':
		case id.row.line && len(id.follows) == 1:
			all = append(all, id)
		default:
			more = append(more, id)
		}
	}
	chance := rand.New(rand.NewPCG(seed, 0))
	for _, ids := range [][]cellID{all, more} {
		chance.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	}
	return slices.Concat(all[:min(lined, len(all))], more[:others])
}

// TestMatrixReal runs cells on real servers: a few, or with MATRIX=all many, and then also without guards, when a cell
// of each row with a line has to fail.
func TestMatrixReal(t *testing.T) {
	full := os.Getenv("MATRIX") == "all"
	lined, others := 10, 6
	if full {
		lined, others = 1<<30, 150
	} else {
		t.Parallel()
	}
	ids := realCells(seedOf(t), lined, others, full)
	if only := os.Getenv("MATRIX_CELL"); only != "" {
		all := append(cellsOf(lineRows()), bubbleCells()...)
		ids = slices.DeleteFunc(all, func(id cellID) bool { return id.String() != only })
	}
	began := time.Now()
	failed := onReal(t, ids, 8*time.Second)
	t.Logf("%d cells on each server in %v, %d fail", len(ids), time.Since(began).Round(time.Second), len(failed))
	if !full && len(failed) > 0 {
		// A stall of the machine in the middle of a request is another cell: what fails has to fail by itself, too.
		for name, course := range failed {
			t.Logf("once: %s:\n%s", name, strings.Join(course, "\n"))
		}
		ids = slices.DeleteFunc(ids, func(id cellID) bool { return failed[id.String()] == nil })
		failed = onReal(t, ids, 8*time.Second)
	}
	show(t, failed)
	if !full {
		return
	}
	ids = slices.DeleteFunc(ids, func(id cellID) bool {
		return !id.row.line || len(id.follows) > 1 || id.way == 'C' || !strings.ContainsRune("arn", rune(id.arrives))
	})
	began = time.Now()
	failed = onReal(t, ids, 3*time.Second, unguarded)
	t.Logf("%d cells without guards %v, %d fail", len(ids), time.Since(began).Round(time.Second), len(failed))
	wantRowsToFail(t, lineRows(), failed)
}

// onReal runs cells on each kind of real server.
func onReal(t *testing.T, ids []cellID, patience time.Duration, hooks ...redis.Hook) map[string][]string {
	t.Helper()
	var all sync.WaitGroup
	failed := make([]map[string][]string, len(redistest.Servers()))
	for i, kind := range redistest.Servers() {
		b := redistest.Shared(t, kind)
		all.Go(func() { failed[i] = runReal(t, b, ids, patience, hooks) })
	}
	all.Wait()
	for _, others := range failed[1:] {
		maps.Copy(failed[0], others)
	}
	return failed[0]
}
