package survey_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/survey"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// On a Cluster the keys of all masters are found, those of a slot that moves once; and those of the others if a master
// is gone.
func TestLocksOfCluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, redistest.Redis, 3, 0, "--cluster-require-full-coverage", "no")
	rdb := cluster.Client(t)
	want := plant(t, rdb, "")
	for i := range 200 {
		key := fmt.Sprint("more:", i)
		check.NoError(t, rdb.Set(t.Context(), key, owners.NewToken(), time.Hour).Err())
		want = append(want, key)
	}
	conn := dial(t, cli.Redis{URL: "redis://" + cluster.Addrs()[0] + "?addr=" + cluster.Addrs()[1] + "&dial_timeout=20s&max_retries=1"})
	find := func() (notes survey.Notes) {
		t.Helper()
		finds(t, conn, survey.Query{Notes: &notes}, want...)
		if notes.Keys < int64(len(want)) {
			t.Errorf("got %+v of %d locks", notes, len(want))
		}
		return notes
	}
	find()

	const tag = "{tag}x"
	from := cluster.MasterOf(tag)
	to := cluster.Nodes()[(slices.Index(cluster.Nodes(), from)+1)%3]
	move := cluster.StartMove(tag, to)
	move.Keys(tag, "readx{tag}", "read{tag}x")
	// What has a line and is free cannot be asked about: no script is told about both.
	want = slices.DeleteFunc(want, func(key string) bool { return strings.HasPrefix(key, "waited") && strings.Contains(key, "{tag}") })
	if notes := find(); notes.Moving != 4 {
		t.Errorf("got %+v while a slot moves", notes)
	}
	move.Finish()
	want = append(want, "waited{tag}x", "waitedx{tag}")
	find()

	to.Kill()
	found, err := survey1(t.Context(), conn, survey.Query{})
	if err == nil || len(found) == 0 || len(found) >= len(want) {
		t.Errorf("with one master of three gone %d of %d keys are found, and the error is %v", len(found), len(want), err)
	}
	for _, key := range found {
		if !slices.Contains(want, key) {
			t.Errorf("%q is no lock", key)
		}
	}
	if err != nil && !strings.Contains(err.Error(), "refused") {
		t.Errorf("the error is %v", err)
	}
}
