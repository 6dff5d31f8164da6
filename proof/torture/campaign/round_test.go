package campaign

import (
	"errors"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/proof/torture/check"
	"github.com/seed-14de3678/redislock/proof/torture/history"
	"github.com/seed-14de3678/redislock/proof/torture/work"
	"github.com/seed-14de3678/redislock/proof/torture/world"
)

// fakeWorld has no servers.
type fakeWorld struct {
	nemeses []world.Nemesis
	heal    error
	left    []string
	broken  []check.Promise
}

func (w *fakeWorld) Target() world.Target       { return world.Target{Topology: world.Single} }
func (w *fakeWorld) Nemeses() []world.Nemesis   { return w.nemeses }
func (w *fakeWorld) Heal() error                { return w.heal }
func (w *fakeWorld) Left() ([]string, error)    { return w.left, nil }
func (w *fakeWorld) Accidents() []check.Promise { return w.broken }

// fakeWorker writes down what is done to it.
type fakeWorker struct {
	log   func(string)
	ended chan error
	stuck bool  // it does not end until it is dumped
	err   error // with which it ends
}

func (w *fakeWorker) Pause()  { w.log("pause") }
func (w *fakeWorker) Resume() { w.log("resume") }
func (w *fakeWorker) Kill()   { w.log("kill"); w.ended <- errors.New("killed") }
func (w *fakeWorker) End() {
	w.log("end")
	if !w.stuck {
		w.ended <- w.err
	}
}
func (w *fakeWorker) Dump()       { w.log("dump"); w.ended <- errors.New("dumped") }
func (w *fakeWorker) Wait() error { return <-w.ended }

// fakeStage is where a round takes milliseconds, but for the time in which faults may strike.
type fakeStage struct {
	Stage
	world *fakeWorld
	mu    sync.Mutex
	done  []string
	hired []work.Config
	like  fakeWorker
}

func newFakeStage() *fakeStage {
	s := &fakeStage{world: &fakeWorld{}}
	s.Stage = Stage{
		World: s.world,
		Times: Times{Calm: time.Millisecond, End: time.Minute, Clean: 50 * time.Millisecond, Fault: 20 * time.Second},
		Keys:  func(Round) []string { return []string{"a"} },
		Hire: func(c work.Config) Worker {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.hired = append(s.hired, c)
			return &fakeWorker{log: s.log, ended: make(chan error, 3), stuck: s.like.stuck, err: s.like.err}
		},
		Checkers: []check.Checker{
			counts(check.Exclusion), counts(check.Linear),
		},
	}
	return s
}

// counts is a checker that counts events and finds nothing.
func counts(p check.Promise) check.Checker {
	return check.Checker{Promise: p, Check: func(h *history.History, _ check.Bounds) ([]check.Finding, int) { return nil, len(h.Events) }}
}

func (s *fakeStage) log(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = append(s.done, what)
}

func roundOf(sort Sort, faults ...Fault) Round {
	for i := range faults {
		faults[i].Number, faults[i].Seed = i+1, uint64(i)
	}
	return Round{Number: 1, Sort: sort, Load: "sets", Processes: 2, Clients: 1, For: 20 * time.Second, Faults: faults}
}

func (s *fakeStage) runIn(t *testing.T, r Round) (*Result, []history.Event) {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "round")
	r.For = 10 * time.Millisecond
	if len(r.Faults) > 0 {
		r.For = 5 * time.Second // a fault that comes later is left out
	}
	result := s.Run(r, folder)
	h, err := history.Read(folder)
	if err != nil {
		t.Fatal(err)
	}
	return result, h.Events
}

func TestRoundReplacesTheKilled(t *testing.T) {
	t.Parallel()
	s := newFakeStage()
	result, events := s.runIn(t, roundOf(Mixed, Fault{Kind: Kind{Name: workerKill, Worker: true}}))
	if len(result.Found)+len(result.Problems) != 0 {
		t.Errorf("got %v, %v", result.Found, result.Problems)
	}
	if want := []string{"kill", "end", "end"}; !reflect.DeepEqual(s.done, want) {
		t.Errorf("got %q done to workers, want %q", s.done, want)
	}
	var numbers []int
	for _, c := range s.hired {
		numbers = append(numbers, c.Process)
		if c.Load != "sets" || c.Clients != 1 || c.Target.Endless || len(c.Keys) != 1 {
			t.Errorf("a worker was told %+v", c)
		}
	}
	if !reflect.DeepEqual(numbers, []int{1, 2, 3}) {
		t.Errorf("got workers %v, want a third in the place of one of two", numbers)
	}
	var kinds []history.Kind
	for _, e := range events {
		if e.Kind != history.Stall { // a pause of the machine
			kinds = append(kinds, e.Kind)
		}
	}
	if want := []history.Kind{history.Fault, history.Killed, history.Healed, history.Settled}; !reflect.DeepEqual(kinds, want) {
		t.Errorf("got events %q, want %q", kinds, want)
	}
	if result.Faults[workerKill] != 1 || result.Looked[check.Exclusion] != len(events) || result.Checked[check.Clean] != 1 {
		t.Errorf("got %+v", result)
	}
}

func TestRoundStopsWorkers(t *testing.T) {
	t.Parallel()
	s := newFakeStage()
	s.runIn(t, roundOf(Mixed, Fault{Kind: Kind{Name: workerStopLong, Worker: true}, For: time.Millisecond}))
	if want := []string{"pause", "resume", "end", "end"}; !reflect.DeepEqual(s.done, want) {
		t.Errorf("got %q done to workers, want %q", s.done, want)
	}
}

func TestRoundStrikesServers(t *testing.T) {
	t.Parallel()
	s := newFakeStage()
	var random []uint64
	for _, err := range []error{nil, errors.New("no")} {
		s.world.nemeses = append(s.world.nemeses, world.Nemesis{
			Name: "cut-" + text(err),
			Strike: func(rng *rand.Rand, d time.Duration) error {
				random = append(random, rng.Uint64(), uint64(d))
				return err
			},
		})
	}
	r := roundOf(Mixed, Fault{Kind: Kind{Name: "cut-"}, For: 3}, Fault{Kind: Kind{Name: "cut-no"}}, Fault{Kind: Kind{Name: "unknown"}})
	result, events := s.runIn(t, r)
	want := []uint64{rand.New(rand.NewPCG(0, 0)).Uint64(), 3, rand.New(rand.NewPCG(1, 0)).Uint64(), 0}
	if !reflect.DeepEqual(random, want) {
		t.Errorf("got %d, want that they depend on the seeds of the faults: %d", random, want)
	}
	if result.Faults["cut-"] != 1 || result.Undone["cut-no"] != 1 || result.Undone["unknown"] != 1 || len(result.Found) != 0 {
		t.Errorf("got done %v, not done %v, found %v", result.Faults, result.Undone, result.Found)
	}
	if e := events[3]; e.Kind != history.Healed || e.Op != 2 || e.Error != "no" {
		t.Errorf("got event %+v", e)
	}
}

func TestRoundFinds(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		spoil func(s *fakeStage)
		want  check.Promise
	}{
		"a worker that does not end": {func(s *fakeStage) {
			s.like.stuck, s.Times.End = true, 50*time.Millisecond
		}, check.Progress},
		"a worker that crashes": {func(s *fakeStage) { s.like.err = errors.New("exit status 2") }, check.Answers},
		"a key that is left":    {func(s *fakeStage) { s.world.left = []string{"a"} }, check.Clean},
		"what a checker finds": {func(s *fakeStage) {
			s.Checkers[0].Check = func(*history.History, check.Bounds) ([]check.Finding, int) {
				return []check.Finding{{Promise: check.Exclusion}}, 1
			}
		}, check.Exclusion},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newFakeStage()
			test.spoil(s)
			result, _ := s.runIn(t, roundOf(Mixed))
			if !slices.ContainsFunc(result.Found, func(f check.Finding) bool { return f.Promise == test.want }) {
				t.Errorf("got %v, want a breach of %s", result.Found, test.want)
			}
		})
	}
}

func TestRoundChecksWhatIsNotBroken(t *testing.T) {
	t.Parallel()
	s := newFakeStage()
	s.world.left = []string{"a"}
	flush := Fault{Kind: Kind{Name: workerStopLong, Worker: true, Breaks: []check.Promise{check.Exclusion, check.Clean}}}
	result, _ := s.runIn(t, roundOf(Endless, flush))
	if result.Looked[check.Exclusion] != 0 || result.Looked[check.Clean] != 0 || result.Looked[check.Linear] == 0 {
		t.Errorf("got %v looked at, want nothing of what a fault may break, and what no lease that ends makes wrong", result.Looked)
	}
	if len(result.Found) != 0 {
		t.Errorf("got %v", result.Found)
	}
}

// Nor what an accident may have broken.
func TestRoundWithAnAccident(t *testing.T) {
	t.Parallel()
	s := newFakeStage()
	s.world.broken = []check.Promise{check.Exclusion}
	result, _ := s.runIn(t, roundOf(Mixed))
	if result.Checked[check.Exclusion] != 0 || result.Checked[check.Clean] != 1 {
		t.Errorf("got %v checked, want exclusion not to be, and clean to be", result.Checked)
	}
}

// Resources are in the servers, too.
func TestRoundThatLosesData(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		broken []check.Promise
		looked int // at Settled, and at what each of two processes has entered
	}{{nil, 3}, {[]check.Promise{check.Order}, 3}, {[]check.Promise{check.Exclusion}, 1}} {
		s := newFakeStage()
		s.world.broken = test.broken
		s.Checkers = []check.Checker{counts(check.Fencing)}
		hire := s.Hire
		s.Hire = func(c work.Config) Worker {
			log, err := history.Create(c.History, c.Process)
			if err != nil {
				t.Error(err)
				return hire(c)
			}
			log.Add(history.Event{Kind: history.Call, Op: 1, Action: history.Enter})
			_ = log.Close()
			return hire(c)
		}
		result, _ := s.runIn(t, roundOf(Mixed))
		if got := result.Looked[check.Fencing]; got != test.looked {
			t.Errorf("broken %v: looked at %d events, want %d", test.broken, got, test.looked)
		}
	}
}

// What is said of a lock means nothing if the servers cannot be had.
func TestRoundWithoutServers(t *testing.T) {
	t.Parallel()
	s := newFakeStage()
	s.world.heal = errors.New("gone")
	s.world.left = []string{"a"}
	result, _ := s.runIn(t, roundOf(Mixed))
	if len(result.Problems) != 1 || len(result.Found) != 0 {
		t.Errorf("got problems %q, findings %v; want one problem, and no finding", result.Problems, result.Found)
	}
	if want := []string{"end", "end"}; !reflect.DeepEqual(s.done, want) {
		t.Errorf("got %q done to workers, want %q", s.done, want)
	}
}
