package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// published is shown once for each test binary.
var published = sync.OnceValue(func() *lockVars {
	vars := &lockVars{held: map[uint64]redislock.Event{}}
	vars.publish()
	return vars
})

// shown reads what the program shows.
func shown(t *testing.T) map[string]map[string]float64 {
	t.Helper()
	answer := httptest.NewRecorder()
	http.DefaultServeMux.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/debug/vars", http.NoBody))
	var all struct {
		Redislock map[string]map[string]float64 `json:"redislock"`
	}
	check.NoError(t, json.Unmarshal(answer.Body.Bytes(), &all))
	return all.Redislock
}

// The program waits while somebody else has the lock, and then works.
func TestProgram(t *testing.T) {
	mini := redistest.StartMini(t)
	rdb := mini.Client(t)
	other := redislock.New(rdb)
	lock := check.Must[*redislock.Lock](t)(other.Obtain(t.Context(), []string{"lock:report"}, time.Minute, nil))
	_ = published()
	before := map[string]float64{"released": shown(t)["released"]["report"], "lost": shown(t)["lost"]["report"]}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		run(ctx, rdb, published(), 10*time.Millisecond)
	}()
	defer func() { cancel(); <-done }()
	check.Eventually(t, 30*time.Second, "it waits", func() bool {
		return shown(t)["waiting"]["report"] == 1
	})
	check.NoError(t, lock.Release(t.Context()))
	check.Eventually(t, 30*time.Second, "it has worked twice", func() bool { return shown(t)["released"]["report"] >= before["released"]+2 })
	check.Eventually(t, 30*time.Second, "it holds the lock", func() bool { return shown(t)["held"]["report"] == 1 })
	check.Eventually(t, 30*time.Second, "it has lost the lock", func() bool {
		mini.Miniredis().Del("lock:report") // between two turns there is nothing to lose
		return shown(t)["lost"]["report"] > before["lost"]
	})
	cancel()
	<-done
	got := shown(t)
	if got["held"]["report"] != 0 || got["waiting"]["report"] != 0 || got["wait_seconds"]["report"] <= 0 || got["hold_seconds"]["report"] <= 0 {
		t.Errorf("at the end: %v", got)
	}
	if got["obtained"]["report"] != got["released"]["report"]+got["lost"]["report"] {
		t.Errorf("not every lock has ended: %v", got)
	}
}

// A lock that nobody releases is held until its lease is over, and no error of the server goes unseen.
func TestForgotten(t *testing.T) {
	world.Bubble(t, testForgotten)
}

func testForgotten(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
	t.Helper()
	v := &lockVars{held: map[uint64]redislock.Event{}}
	client := world.NewClient(t, w.RDB, redislock.WithHooks(v.hooks()))
	_ = check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{"a"}, time.Hour, &redislock.Options{Name: "long"}))
	_ = check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{"b"}, 300*time.Millisecond, &redislock.Options{Name: "short"}))
	check.Eventually(t, 30*time.Second, "the short one has ended", func() bool {
		return cmp.Equal(v.heldNow(), any(map[string]int{"long": 1}))
	})
	mini.Miniredis().SetError("LOADING Redis is loading the dataset in memory")
	_, err := client.Obtain(t.Context(), []string{"c"}, time.Hour, &redislock.Options{Name: "bad"})
	if err == nil || v.failed.Get("bad") == nil {
		t.Errorf("got error %v, counted %v", err, v.failed.String())
	}
}
