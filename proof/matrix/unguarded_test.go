package matrix_test

import (
	"crypto/fips140"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/proto/decode"
)

// unguarded is a hook with which no request of a Redis client closes another. It shows what guards are for. It takes the
// guards out of the stamp of each call, and leaves the name of the request there: see lua/include/head.lua and lua/include/guard.lua.
var unguarded = check.Around{Before: func(cmd redis.Cmder) {
	if !check.RunIn(cmd).Closes() {
		return
	}
	args := cmd.Args() // and not a copy
	words := decode.Words(args)
	keys, err := strconv.Atoi(words[2])
	if err != nil {
		panic(err)
	}
	const shape, stamp = 2, 3 // places in ARGV, from 0
	head := 3 + keys
	owner, rest, _ := strings.Cut(words[head+stamp], "|")
	number, _, _ := strings.Cut(rest, "|")
	args[head+shape] = strings.ReplaceAll(words[head+shape], "c", "")
	args[head+stamp] = owner + "|" + number + "|"
	if sent := check.RunIn(cmd); sent.Closes() || len(sent.Stamp.Closes) > 0 || !sent.Stamp.Is {
		panic("the guards of a call are not taken out of it: " + sent.Script)
	}
}}

// TestMatrixUnguarded runs some of the cells that fail without guards: others each time, or those of MATRIX_SEED again.
func TestMatrixUnguarded(t *testing.T) {
	if fips140.Enforced() {
		t.Skip("see TestMatrixSample")
	}
	t.Parallel()
	listed := readList(string(check.Must[[]byte](t)(os.ReadFile(listFile))))
	ids := slices.DeleteFunc(bubbleCells(), func(id cellID) bool { return !listed[id.String()] })
	rand.New(rand.NewPCG(seedOf(t), 0)).Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	ids = ids[:50]
	failed := runCells(t, ids, unguarded)
	for _, id := range ids {
		if failed[id.String()] == nil {
			t.Errorf("%v: nothing is wrong without guards", id)
		}
	}
}
