package quorum_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/quorum"
)

// Options.Wait bounds the whole Obtain, and nothing after it.
func TestWait(t *testing.T) {
	polling := func(wait time.Duration) *redislock.Options {
		return &redislock.Options{Wait: wait, RetryStrategy: redislock.LinearBackoff(100 * time.Millisecond)}
	}
	t.Run("somebody else has it", func(t *testing.T) {
		bubble(t, 3, func(t *testing.T, w *world) {
			w.block(t, "k", time.Hour, 0, 1)
			_, err := w.client.Obtain(t.Context(), []string{"k"}, long, polling(2*time.Second))
			wantOnly(t, err, redislock.ErrNotObtained)
			wantIs(t, err, redislock.ErrWaitOver)
			if asked := w.count("refused", 0); asked < 10 {
				t.Errorf("there were %d attempts", asked)
			}
			all := quorum.NodeErrors(err) // the third node may not have answered
			if len(all) < 2 || all[0].Node != 0 || all[1].Node != 1 {
				t.Errorf("got errors of the nodes %v, want those of 0 and 1", all)
			}
		})
	})
	t.Run("one attempt is made in any case", func(t *testing.T) {
		bubble(t, 3, func(t *testing.T, w *world) {
			lock := must[*quorum.Lock](t)(w.client.Obtain(t.Context(), []string{"k"}, long, polling(time.Microsecond)))
			_, err := w.client.Obtain(t.Context(), []string{"k"}, long, polling(time.Microsecond))
			wantIs(t, err, redislock.ErrNotObtained, redislock.ErrWaitOver)
			w.settled(t)
			asked := w.count("refused", 0) + w.count("refused", 1) + w.count("refused", 2)
			if asked < 2 || asked > 3 { // one that has yet to answer to the first Obtain may be left out
				t.Errorf("the nodes were asked %d times", asked)
			}
			noError(t, lock.Release(t.Context()))
		})
	})
	t.Run("even if the time is over before it", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, 3)
		_, _ = w.client.Obtain(bounded(t), []string{"k"}, long, polling(time.Microsecond)) // on this machine it may take too long
		eventually(t, "a node was asked", func() bool { return w.count("obtained", 0)+w.count("refused", 0) > 0 })
	})
	t.Run("it has time for its answers", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := &world{}
			var away atomic.Int64
			for i := range 3 {
				mini := redistest.PipeMini(t)
				rdb := mini.Client(t, impatient)
				rdb.AddHook(far(&away))
				w.rdbs, w.nodes = append(w.rdbs, mini.Client(t)), append(w.nodes, w.newNode(t, i, rdb))
			}
			w.client = w.newClient(t)
			w.warmUp(t)
			away.Store(int64(50 * time.Millisecond))
			noError(t, must[*quorum.Lock](t)(w.client.Obtain(t.Context(), []string{"k"}, long, polling(time.Microsecond))).Release(t.Context()))
		})
	})
	t.Run("nobody answers", func(t *testing.T) {
		t.Parallel()
		w := relayedWorld(t, 3)
		w.warmUp(t)
		w.hold(0, 1, 2)
		began := time.Now()
		_, err := w.client.Obtain(bounded(t), []string{"k"}, long, &redislock.Options{Wait: 50 * time.Millisecond})
		wantOnly(t, err, redislock.ErrUnknownOutcome)
		wantIs(t, err, redislock.ErrWaitOver)
		if got := time.Since(began); got > patience {
			t.Errorf("it has taken %v", got)
		}
		w.release(0, 1, 2)
		w.wantHolders(t, "k", 0)
	})
}

// What no Obtain can mean is refused before anything is sent.
func TestRefusedAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3)
	w.nodes = w.newNodes(t, redislock.WithMinUptime(time.Hour))
	client := w.newClient(t)
	const year = 365 * 24 * time.Hour
	for name, test := range map[string]struct {
		opt  redislock.Options
		want string
	}{
		"Wait below 0":            {redislock.Options{Wait: -1}, "invalid Wait: -1ns"},
		"Wait too long":           {redislock.Options{Wait: year + 1}, "invalid Wait"},
		"HoldAtLeast below 0":     {redislock.Options{HoldAtLeast: -1}, "invalid HoldAtLeast: -1ns"},
		"HoldAtLeast too long":    {redislock.Options{HoldAtLeast: year + 1}, "invalid HoldAtLeast"},
		"Name too long":           {redislock.Options{Name: strings.Repeat("n", 129)}, "invalid Name: it has 129 bytes"},
		"longer than the uptime":  {redislock.Options{HoldAtLeast: 2 * time.Hour}, "longer than the 1h0m0s of WithMinUptime"},
		"a line over all servers": {redislock.Options{Queue: true}, "option Queue"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := client.Obtain(bounded(t), []string{"k"}, long, &test.opt)
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), `quorum: obtain "k": `) {
				t.Errorf("got error %v, want one that says %q", err, test.want)
			}
		})
	}
	if w.count("obtained", 0)+w.count("refused", 0) != 0 {
		t.Error("a node was asked")
	}
	opt := &redislock.Options{Name: strings.Repeat("n", 128), Wait: year, HoldAtLeast: year}
	noError(t, must[*quorum.Lock](t)(w.client.Obtain(bounded(t), []string{"k"}, long, opt)).Release(bounded(t)))
}
