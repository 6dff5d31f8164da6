// Package matrix_test makes every request of the library come late, at every moment of what may follow it:
// proof/CONTRIBUTING.md says more.
package matrix_test

import (
	"cmp"
	"crypto/fips140"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// bubbleCells are all cells that can be in a bubble, in order.
func bubbleCells() []cellID { return cellsOf(bubbleRows()) }

// cellsOf are all cells of rows.
func cellsOf(rows []*row) []cellID {
	var ids []cellID
	for _, row := range rows {
		for _, way := range []byte(cmp.Or(row.ways, "RGC")) {
			for _, follows := range row.sequences(way) {
				arrives := "bman"
				if last := follows[len(follows)-1]; !ends(last) {
					arrives = "bmarn"
				}
				if way == 'R' && len(follows) == 1 {
					arrives = "op" + arrives
				}
				if row.loses { // nobody has closed it before that
					arrives = strings.TrimPrefix(arrives, "b")
				}
				for _, each := range []byte(arrives) {
					ids = append(ids, cellID{row, way, follows, each})
				}
			}
		}
	}
	return ids
}

// sequences are the operations, and the pairs of them, that may follow.
func (r *row) sequences(way byte) []string {
	n := r.size
	if r.code == 'f' || r.code == 'o' || r.base == 'B' || r.code == 'a' && way == 'R' {
		n-- // of three
	}
	var all []string
	for _, first := range r.possible(r.live(way), n, strings.ContainsRune("rL", rune(r.code)) && way != 'R') {
		all = append(all, string(first))
	}
	for _, first := range all[:len(all):len(all)] {
		live, left := !ends(first[0]), n
		switch first {
		case "f", "o":
			left--
		case "a":
			left = min(2, n)
		case "W", "X", "R", "M", "C":
			left = r.size
		}
		// What obtains releases by itself. Short cuts for one key are about single operations, and so is what holds are handed over by.
		if r.local || first == "r" || first == "L" || first == "K" || way == 'C' || r.size == 1 {
			continue
		}
		for _, second := range r.possible(live, left, false) {
			all = append(all, first+string(second))
		}
	}
	return all
}

// ends reports whether there is no hold any more after an operation.
func ends(code byte) bool { return strings.IndexByte("rzLK", code) >= 0 }

// possible are the operations that may come next: if there is a hold, with so many keys.
func (r *row) possible(live bool, n int, unreleased bool) []byte {
	var codes []byte
	if live {
		codes = append(codes, "sldnrLK"...)
		if r.nexts == "" {
			codes = append(codes, 'u')
		}
		if r.local && r.generated {
			codes = append(codes, 'C')
		}
		if n > 1 {
			codes = append(codes, "fo"...)
		}
		if r.fenced {
			codes = append(codes, 'b')
		}
		switch {
		case r.generated:
		case r.nexts != "": // somebody else reads: nobody can write
			codes = append(codes, "tz"...)
		default:
			codes = append(codes, "taz"...)
		}
	} else if unreleased {
		codes = append(codes, 'r')
	}
	switch {
	case r.nexts != "":
		return append(codes, r.nexts...)
	case r.generated:
		return append(codes, 'W')
	case r.size == 1:
		return append(codes, "WR"...)
	}
	return append(codes, "WXRM"...)
}

// runs counts what runs cells: a process knows a token once, so no two cells may have the same one at a time.
var runs atomic.Int64

// runCells runs cells whose Redis clients have these hooks, and returns what is wrong with each of those that fail, by name.
func runCells(t *testing.T, ids []cellID, hooks ...redis.Hook) map[string][]string {
	t.Helper()
	var mu sync.Mutex
	failed := make(map[string][]string)
	run := runs.Add(1)
	var next atomic.Int64
	const chunk = 48 // of cells in one bubble
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for {
				first := int(next.Add(chunk)) - chunk
				if first >= len(ids) {
					return
				}
				some := ids[first:min(first+chunk, len(ids))]
				synctest.Test(t, func(t *testing.T) {
					place, clean := miniSite(t)
					place.hooks = hooks
					for i, id := range some {
						place.prefix = fmt.Sprintf("%d.%d:", run, first+i)
						c := newCell(t, place, id)
						faults, void := c.run()
						if void != "" {
							t.Errorf("%v means nothing: %s", id, void)
						}
						if len(ids) == 1 {
							t.Log("\n" + strings.Join(c.notes, "\n"))
						}
						if len(faults) > 0 {
							mu.Lock()
							if failed[id.String()] = faults; len(hooks) == 0 {
								failed[id.String()] = append(faults, c.notes...)
							}
							mu.Unlock()
						}
						clean(c.token)
					}
				})
			}
		})
	}
	workers.Wait()
	return failed
}

// forgets is how long a process keeps a token in mind of which a request was not answered, and a little more.
const forgets = 5*time.Minute + 11*time.Second

// miniSite is a miniredis in the bubble of the test. When clean returns nothing is left of a cell in Redis, and of
// its token in this process. That forgets a token in which an operation ends after so long, by the clock of the
// bubble: once the bubble is over nobody would.
func miniSite(t *testing.T) (place site, clean func(token string)) {
	t.Helper()
	mini := redistest.PipeMini(t)
	rdb := mini.Client(t)
	for _, s := range proto.Scripts() {
		check.NoError(t, rdb.ScriptLoad(t.Context(), s.Source()).Err())
	}
	place = site{
		dial:   func() (net.Conn, error) { return mini.Miniredis().Dial() },
		eye:    miniEye{mini.Miniredis()},
		slack:  2 * time.Millisecond,
		brief:  10 * time.Millisecond,
		settle: synctest.Wait,
	}
	client := redislock.New(rdb)
	t.Cleanup(client.Close)
	return place, func(token string) {
		mini.Miniredis().FlushAll()
		if token == "" {
			return // it is generated, and was known to nobody
		}
		time.Sleep(forgets)
		lock, err := client.As(token).Obtain(t.Context(), []string{token}, time.Minute, nil)
		check.NoError(t, err)
		check.NoError(t, lock.Release(t.Context()))
	}
}

// TestMatrix runs all cells, with guards and without: make matrix.
func TestMatrix(t *testing.T) {
	if os.Getenv("MATRIX") != "all" {
		t.Skip("see make matrix; a sample of it is TestMatrixSample")
	}
	ids := bubbleCells()
	defer debug.SetGCPercent(debug.SetGCPercent(300))
	began := time.Now()
	failed := runCells(t, ids)
	t.Logf("%d cells in %v, %d fail", len(ids), time.Since(began).Round(time.Second), len(failed))
	show(t, failed)
	began = time.Now()
	failed = runCells(t, ids, unguarded)
	t.Logf("without guards %v, %d fail", time.Since(began).Round(time.Second), len(failed))
	checkList(t, failed)
}

// TestMatrixSample runs some of the cells: others each time, or those of MATRIX_SEED again, or MATRIX_CELL alone.
func TestMatrixSample(t *testing.T) {
	if fips140.Enforced() {
		t.Skip("under fips140=only random numbers come from the jitter of the clock, which a bubble has not")
	}
	t.Parallel()
	ids := bubbleCells()
	if only := os.Getenv("MATRIX_CELL"); only != "" {
		ids = slices.DeleteFunc(ids, func(id cellID) bool { return id.String() != only })
	} else {
		rand.New(rand.NewPCG(seedOf(t), 0)).Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
		ids = ids[:150]
	}
	if len(ids) == 0 {
		t.Fatal("there is no such cell")
	}
	show(t, runCells(t, ids))
}

// TestMatrixLeave runs the cells in which keys are left, with nothing else behind the late request.
func TestMatrixLeave(t *testing.T) {
	if fips140.Enforced() {
		t.Skip("see TestMatrixSample")
	}
	t.Parallel()
	ids := slices.DeleteFunc(bubbleCells(), func(id cellID) bool {
		late := id.row.code == 'L' && strings.ContainsAny(id.follows, "rWM")
		return id.way != 'G' || len(id.follows) > 1 || id.row.generated || id.row.size == 1 || !late && id.follows != "L"
	})
	t.Logf("%d cells", len(ids))
	show(t, runCells(t, ids))
}

// seedOf is what a sample is chosen by.
func seedOf(t *testing.T) uint64 {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv("MATRIX_SEED"); text != "" {
		seed = check.Must[uint64](t)(strconv.ParseUint(text, 10, 64))
	}
	t.Logf("MATRIX_SEED=%d", seed)
	return seed
}

// show fails the test if cells have failed, and shows the course of some of them.
func show(t *testing.T, failed map[string][]string) {
	t.Helper()
	shown := 0
	for _, name := range slices.Sorted(maps.Keys(failed)) {
		if shown++; shown > 5 {
			t.Errorf("%s: %s", name, failed[name][0])
			continue
		}
		t.Errorf("%s:\n%s", name, strings.Join(failed[name], "\n"))
	}
}
