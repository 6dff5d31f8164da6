package main

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// One lease reads alike wherever it is shown. It is long enough to read so for half an hour.
func TestLeaseReadsAlike(t *testing.T) {
	t.Parallel()
	const lease, want = 125*time.Hour + 30*time.Minute, "5d05h"
	primary := redistest.Start(t, redistest.Redis)
	redistest.Start(t, redistest.Redis, "--replicaof", "127.0.0.1", strconv.Itoa(primary.Port()))
	rdb := primary.Client(t)
	client := redislock.New(rdb)
	defer client.Close()
	check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{"k"}, lease, nil))
	waitInLine(t, rdb, "k", "somebody else", lease)
	check.NoError(t, rdb.Wait(t.Context(), 1, time.Minute).Err())
	for _, line := range []string{
		"ls -l", "show k", "watch --count 1", "watch --count 1 k", "run --no-wait k -- true", "wait --wait 50ms k", "tree",
		"doctor --only clocks --ttl " + lease.String(), "break --yes k", // which comes last
	} {
		command, rest, _ := strings.Cut(line, " ")
		args := append([]string{command, "--redis", "redis://" + primary.Addr()}, strings.Fields(rest)...)
		if stdout, stderr, _ := runTool(t, args...); !strings.Contains(stdout+stderr, want) {
			t.Errorf("%s writes\n%s%swant %s in it", line, stdout, stderr, want)
		}
	}
}
