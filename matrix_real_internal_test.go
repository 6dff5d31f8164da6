package redislock

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
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// matrixRealEye looks at a server over a connection of its own.
type matrixRealEye struct{ rdb *redis.Client }

func (e matrixRealEye) look(key string) matrixValues {
	ctx, pipe := context.Background(), e.rdb.Pipeline()
	kind, ttl, value := pipe.Type(ctx, key), pipe.PTTL(ctx, key), pipe.Get(ctx, key)
	members, now := pipe.ZRangeWithScores(ctx, key, 0, -1), pipe.Time(ctx)
	intent, fences := pipe.Get(ctx, companion("intent", key)), pipe.HGetAll(ctx, companion("fence", key))
	line := pipe.ZRange(ctx, lineOf(key), 0, -1)
	_, _ = pipe.Exec(ctx) // of two commands for a key one is of another type
	v := matrixValues{leases: make(map[string]time.Duration), intent: intent.Val(), line: matrixWaiters(line.Val())}
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

// realPlace is a real server behind a relay of its own.
func realPlace(t *testing.T, b redistest.Backend, rdb *redis.Client, patience time.Duration) matrixPlace {
	t.Helper()
	relay := redistest.NewRelay(t, b.Addr())
	return matrixPlace{
		dial: func() (net.Conn, error) { return net.Dial("tcp", relay.Addr()) },
		keep: func(words []string) func() []byte {
			return relay.Keep(func(_ string, args []string) bool { return slices.Equal(args, words[1:]) }).Deliver
		},
		eye:    matrixRealEye{rdb},
		slack:  2 * time.Second,
		brief:  500 * time.Millisecond,
		settle: func() {},
		real:   patience,
	}
}

// matrixRunReal runs cells on a real server, many at a time: they wait most of the time.
func matrixRunReal(t *testing.T, b redistest.Backend, ids []matrixID, patience time.Duration) map[string][]string {
	t.Helper()
	rdb := b.Client(t, func(opt *redis.Options) { opt.PoolSize = 64 })
	for _, s := range matrixScripts() {
		check.NoError(t, rdb.ScriptLoad(t.Context(), s.Source()).Err())
	}
	var mu sync.Mutex
	failed := make(map[string][]string)
	var next atomic.Int64
	var workers sync.WaitGroup
	run := rand.Uint32()
	for range min(24, len(ids)) {
		place := realPlace(t, b, rdb, patience)
		workers.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(ids) {
					return
				}
				place.prefix = fmt.Sprintf("matrix:%d:%d:", run, i)
				c := newMatrixCell(t, place, ids[i])
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

// realMatrixIDs are cells for real servers: those of the lines that are followed by one operation, and so many others
// by chance, some of them with lines too.
func realMatrixIDs(seed uint64, lined, others int) []matrixID {
	var all, more []matrixID
	for _, id := range slices.Concat(matrixCells(matrixLineRows()), matrixIDs()) {
		switch {
		case !id.bears():
		case id.row.line && len(id.follows) == 1:
			all = append(all, id)
		default:
			more = append(more, id)
		}
	}
	chance := rand.New(rand.NewPCG(seed, 0))
	for _, ids := range [][]matrixID{all, more} {
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
	ids := realMatrixIDs(matrixSeed(t), lined, others)
	if only := os.Getenv("MATRIX_CELL"); only != "" {
		all := append(matrixCells(matrixLineRows()), matrixIDs()...)
		ids = slices.DeleteFunc(all, func(id matrixID) bool { return id.String() != only })
	}
	began := time.Now()
	failed := matrixOnReal(t, ids, 8*time.Second)
	t.Logf("%d cells on each server in %v, %d fail", len(ids), time.Since(began).Round(time.Second), len(failed))
	if !full && len(failed) > 0 {
		// A stall of the machine in the middle of a request is another cell: what fails has to fail by itself, too.
		for name, course := range failed {
			t.Logf("once: %s:\n%s", name, strings.Join(course, "\n"))
		}
		ids = slices.DeleteFunc(ids, func(id matrixID) bool { return failed[id.String()] == nil })
		failed = matrixOnReal(t, ids, 8*time.Second)
	}
	showMatrix(t, failed)
	if !full {
		return
	}
	guardsOff = true
	defer func() { guardsOff = false }()
	ids = slices.DeleteFunc(ids, func(id matrixID) bool {
		return !id.row.line || len(id.follows) > 1 || id.way == 'C' || !strings.ContainsRune("arn", rune(id.lands))
	})
	began = time.Now()
	failed = matrixOnReal(t, ids, 3*time.Second)
	t.Logf("%d cells without guards %v, %d fail", len(ids), time.Since(began).Round(time.Second), len(failed))
	wantRowsToFail(t, matrixLineRows(), failed)
}

// matrixOnReal runs cells on a Redis and on a Valkey.
func matrixOnReal(t *testing.T, ids []matrixID, patience time.Duration) map[string][]string {
	t.Helper()
	var both sync.WaitGroup
	var failed [2]map[string][]string
	for i, kind := range []redistest.Kind{redistest.Redis, redistest.Valkey} {
		b := redistest.Shared(t, kind)
		both.Go(func() { failed[i] = matrixRunReal(t, b, ids, patience) })
	}
	both.Wait()
	maps.Copy(failed[0], failed[1])
	return failed[0]
}
