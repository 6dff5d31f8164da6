package main

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/proof/benchmarks/turns/task"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// A told worker is one that a test gives orders.
type told struct {
	t       *testing.T
	orders  *json.Encoder
	answers *json.Decoder
}

// tell starts a worker in this process, which ends with the test.
func tell(t *testing.T) told {
	t.Helper()
	in, orders := io.Pipe()
	answers, out := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- work(in, out) }()
	t.Cleanup(func() {
		_ = orders.Close() // a pipe in memory
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return told{t, json.NewEncoder(orders), json.NewDecoder(answers)}
}

// does gives an order.
func (w told) does(order task.Order) (r task.Reading) {
	w.t.Helper()
	if err := w.orders.Encode(order); err != nil {
		w.t.Fatal(err)
	}
	if err := w.answers.Decode(&r); err != nil {
		w.t.Fatal(err)
	}
	return r
}

// In every way all callers have turns, for which they wait, and the last one leaves nothing that keeps the next crowd waiting.
func TestWays(t *testing.T) {
	t.Parallel()
	redistest.Need(t, "redis-server")
	server := redistest.Start(t, redistest.Redis)
	for _, way := range []task.Way{task.BSM, task.Rueidis, task.InLine, task.Passing, task.Polling, task.Once, task.Least, task.Mutex} {
		t.Run(string(way), func(t *testing.T) {
			t.Parallel()
			w := tell(t)
			order := task.Order{Do: task.Start, Way: way, Addr: server.Addr(), Key: "k:" + string(way), Callers: 3, Interval: time.Millisecond}
			if way == task.Once {
				order.Callers = 1
			}
			for range 2 {
				if r := w.does(order); r.Failed != "" {
					t.Fatal(r.Failed)
				}
				r := w.does(task.Order{Do: task.Read})
				for had := r.Turns; slices.Min(had) < 2 && r.Failed == ""; {
					r = w.does(task.Order{Do: task.Read})
					for i, n := range r.Turns {
						had[i] += n
					}
				}
				if r.Failed != "" || r.Waits.Sum <= 0 || r.CPU <= 0 || r.Allocs == 0 {
					t.Errorf("got %+v", r)
				}
				if r := w.does(task.Order{Do: task.Stop}); r.Failed != "" {
					t.Error(r.Failed)
				}
				order.Hold = time.Millisecond
			}
			if r := w.does(task.Order{Do: task.Weigh}); r.Heap == 0 {
				t.Error("got no heap")
			}
		})
	}
}

// What goes wrong is told, and the worker goes on.
func TestFails(t *testing.T) {
	t.Parallel()
	w := tell(t)
	if r := w.does(task.Order{Do: task.Start, Way: "on foot"}); !strings.Contains(r.Failed, "on foot") {
		t.Errorf("got %q, want what is wrong with the way", r.Failed)
	}
	w.does(task.Order{Do: task.Start, Way: task.BSM, Addr: "127.0.0.1:1", Key: "k", Callers: 1})
	r := w.does(task.Order{Do: task.Read})
	for r.Failed == "" {
		r = w.does(task.Order{Do: task.Read})
	}
	if !strings.Contains(r.Failed, string(task.BSM)) {
		t.Errorf("got %q, want it to name the way", r.Failed)
	}
	if r := w.does(task.Order{Do: task.Stop}); r.Failed == "" {
		t.Error("the end of a crowd that has failed is no failure")
	}
	var out bytes.Buffer
	if err := work(strings.NewReader(`{"Do":"dance"}`), &out); err == nil {
		t.Error("an order that nobody knows was done")
	}
}
