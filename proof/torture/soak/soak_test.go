package soak_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/internal/redistest"
)

// enough is for how long the library has to work until its growth can be judged: a guard lives for five minutes.
const enough = 20 * time.Minute

// One process uses all of the library, in calm and under faults. Nothing grows, and at the end nothing is left.
func TestSoak(t *testing.T) {
	var pages [2]string
	t.Run("both", func(t *testing.T) {
		t.Run("calm", func(t *testing.T) {
			t.Parallel()
			pages[0] = soak(t, 0)
		})
		t.Run("faults", func(t *testing.T) {
			t.Parallel()
			pages[1] = soak(t, max(time.Second, min(8*time.Second, *duration/10)))
		})
	})
	if *page != "" {
		if err := os.WriteFile(*page, []byte(pages[0]+"\n"+pages[1]), 0o644); err != nil {
			t.Error(err)
		}
	}
}

// soak lets a user work, with a fault every so often, or none, and returns the figures as Markdown.
func soak(t *testing.T, every time.Duration) string {
	t.Helper()
	x := newTrouble(t)
	interval := max(*duration/240, 100*time.Millisecond)
	args := []string{interval.String(), x.relay.Addr()}
	for range 3 {
		args = append(args, redistest.Start(t, redistest.Redis).Addr())
	}
	began := time.Now()
	p := redistest.StartRole(t, "user", args...)
	ctx, cancel := context.WithTimeout(t.Context(), *duration)
	defer cancel()
	done := map[string]int{}
	var spoiling sync.WaitGroup
	if every > 0 {
		spoiling.Go(func() { done = x.spoil(ctx, every) })
	}
	var samples []sample
	for ctx.Err() == nil {
		if s, ok := x.look(t, p); ok {
			s.at = time.Since(began)
			samples = append(samples, s)
		}
	}
	spoiling.Wait()
	last := x.end(t, p)
	judge(t, samples, last, every > 0)
	text := summary(samples, last, done)
	if t.Failed() {
		t.Log(text)
	}
	return text
}

// look takes a sample. Under a fault the server may not answer, which is no sample.
func (x *trouble) look(t *testing.T, p *redistest.Process) (s sample, ok bool) {
	t.Helper()
	line, err := p.ReadLine(time.Minute)
	if err != nil {
		t.Fatalf("the user says nothing: %v", err)
	}
	if err := json.Unmarshal([]byte(line), &s.process); err != nil {
		t.Fatalf("the user says %q: %v", line, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	return s, s.askServer(ctx, x.rdb) == nil
}

// end has the user end everything, and returns its last words.
func (x *trouble) end(t *testing.T, p *redistest.Process) sample {
	t.Helper()
	p.Signal(syscall.SIGTERM)
	for {
		s, ok := x.look(t, p)
		if !s.Over {
			continue
		}
		if err := p.Wait(); err != nil || !ok {
			t.Errorf("the end of the user: %v; the server answers: %v", err, ok)
		}
		return s
	}
}

// judge says what is not as it has to be.
func judge(t *testing.T, samples []sample, last sample, faulty bool) {
	t.Helper()
	if last.Operations == 0 || last.Operations == last.Refused+last.Lost+last.Failed {
		t.Errorf("of %d operations none was done", last.Operations)
	}
	if last.Failed > 0 && !faulty {
		t.Errorf("%d operations failed without a fault, the first: %s", last.Failed, last.First)
	}
	if last.Goroutines > 0 || last.Sockets > 0 {
		t.Errorf("at the end %d goroutines and %d sockets are left", last.Goroutines, last.Sockets)
	}
	if last.channels > 0 {
		t.Errorf("at the end %d channels of the server are subscribed to", last.channels)
	}
	if *duration < enough {
		return
	}
	for _, f := range figures {
		if before, after, flat := f.growth(samples); !flat {
			t.Errorf("%s: %d in the second quarter, %d in the last one", f.name, before, after)
		}
	}
}

// summary is the figures as Markdown.
func summary(samples []sample, last sample, done map[string]int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d operations; of them %d were refused, %d had lost their lock, and %d failed",
		last.Operations, last.Refused, last.Lost, last.Failed)
	if len(done) > 0 {
		total := 0
		var list []string
		for _, name := range slices.Sorted(maps.Keys(done)) {
			total += done[name]
			list = append(list, fmt.Sprintf("%s %d", name, done[name]))
		}
		fmt.Fprintf(&b, "; %d faults: %s", total, strings.Join(list, ", "))
	}
	fmt.Fprintf(&b, ".\n\n")
	if len(samples) >= 8 {
		b.WriteString(table(samples))
	}
	return b.String()
}

// The judgement finds a figure that grows, and none that goes up and down.
func TestGrowth(t *testing.T) {
	t.Parallel()
	heap := figures[0]
	for _, test := range []struct {
		name string
		at   func(i int64) int64
		flat bool
	}{
		{"the same all the time", func(int64) int64 { return 20 * mebi }, true},
		{"more only in the first quarter", func(i int64) int64 { return min(i, 60) * mebi }, true},
		{"up and down", func(i int64) int64 { return (20 + i%7) * mebi }, true},
		{"a little for each operation", func(i int64) int64 { return 20*mebi + i*mebi/10 }, false},
		{"a jump in the end", func(i int64) int64 { return 20*mebi + i/190*10*mebi }, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			samples := make([]sample, 240)
			for i := range samples {
				samples[i].Heap = test.at(int64(i))
			}
			if before, after, flat := heap.growth(samples); flat != test.flat {
				t.Errorf("before %d, after %d: flat: got %v, want %v", before, after, flat, test.flat)
			}
		})
	}
}
