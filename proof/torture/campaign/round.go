package campaign

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-14de3678/redislock/proof/torture/check"
	"github.com/seed-14de3678/redislock/proof/torture/history"
	"github.com/seed-14de3678/redislock/proof/torture/work"
	"github.com/seed-14de3678/redislock/proof/torture/world"
)

// A Stage is where rounds are run.
type Stage struct {
	World    world.World
	Checkers []check.Checker
	Times    Times
	Bounds   check.Bounds
	Hire     func(work.Config) Worker
	Keys     func(r Round) []string
}

// Times are how long the parts of a round take that are not in its plan.
type Times struct {
	Calm  time.Duration // after the last fault, in which everybody has to get on
	End   time.Duration // that workers have at most to end
	Clean time.Duration // until nothing may be left
	Fault time.Duration // that a fault may take longer than planned
}

// DefaultTimes hold on a machine that is busy with something else.
var DefaultTimes = Times{Calm: 6 * time.Second, End: 30 * time.Second, Clean: 45 * time.Second, Fault: time.Minute}

// Run does a round, and writes its history to a folder, which it makes.
func (s Stage) Run(r Round, folder string) *Result {
	began := time.Now()
	result := newResult()
	result.Rounds = 1
	if err := s.run(r, folder, result); err != nil {
		result.Problems = append(result.Problems, fmt.Sprintf("round %d: %v", r.Number, err))
	}
	result.Took = time.Since(began)
	return result
}

func (s Stage) run(r Round, folder string, result *Result) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	log, err := history.Create(filepath.Join(folder, "process-0.jsonl"), 0)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	ctx, stop := context.WithCancel(context.Background())
	probe := sync.WaitGroup{}
	probe.Go(func() { work.Stalls(ctx, log) })
	defer probe.Wait()
	defer stop()

	crew := newCrew(r.Processes, log, func(number int) Worker { return s.Hire(s.config(r, number, folder)) })
	struck := s.strikeAll(r, crew, log, result)
	var healed error
	if struck == nil { // else Heal might wait for ever
		healed = s.World.Heal()
	}
	log.Add(history.Event{Kind: history.Settled})
	if struck == nil && healed == nil {
		time.Sleep(s.Times.Calm)
	}
	found := crew.dismiss(s.Times.End)
	broken := append(s.World.Accidents(), r.breaks()...)
	if struck != nil || healed != nil {
		return fmt.Errorf("the servers are not as before: %w", errors.Join(struck, healed))
	}
	if !slices.Contains(broken, check.Clean) {
		clean, err := s.left()
		if err != nil {
			return err
		}
		result.Looked[check.Clean]++
		result.Checked[check.Clean]++
		found = append(found, clean...)
	}
	h, err := history.Read(folder)
	if err != nil {
		return err
	}
	result.count(h)
	result.Found = append(result.Found, found...)
	s.check(h, r.Sort == Endless, broken, result)
	return nil
}

// breaks are the promises that the faults of the round may break.
func (r Round) breaks() (all []check.Promise) {
	for _, f := range r.Faults {
		all = append(all, f.Breaks...)
	}
	return all
}

// config is what a worker is told.
func (s Stage) config(r Round, number int, folder string) work.Config {
	target := s.World.Target()
	if target.Endless = r.Sort == Endless; target.Endless {
		target.MinUptime = 0 // of which no lease may be longer; no fault of such a round has a server forget one
	}
	return work.Config{
		Process: number, Seed: r.Seed + uint64(number), Target: target, Load: r.Load, Keys: s.Keys(r), Clients: r.Clients,
		History: filepath.Join(folder, fmt.Sprintf("process-%d.jsonl", number)),
	}
}

// strikeAll does the faults of the round: one after the other to the workers, and at the same time one after the other to the
// servers. It returns an error if one of them does not end.
func (s Stage) strikeAll(r Round, crew *crew, log *history.Writer, result *Result) error {
	var (
		began = time.Now()
		mu    sync.Mutex // of result
		lanes sync.WaitGroup
	)
	for _, worker := range []bool{false, true} {
		lanes.Go(func() {
			for _, f := range r.Faults {
				if f.Worker != worker {
					continue
				}
				time.Sleep(time.Until(began.Add(f.At)))
				if time.Since(began) > r.For {
					return // what came before has taken longer than planned
				}
				log.Add(history.Event{Kind: history.Fault, Op: f.Number, Name: f.Name, For: f.For})
				err := s.strike(f, crew)
				log.Add(history.Event{Kind: history.Healed, Op: f.Number, Name: f.Name, Error: text(err)})
				mu.Lock()
				if err != nil {
					result.Undone[f.Name]++
				} else {
					result.Faults[f.Name]++
				}
				mu.Unlock()
			}
		})
	}
	done := make(chan struct{})
	go func() { lanes.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(r.For + s.Times.Fault):
		return fmt.Errorf("a fault did not end")
	}
	time.Sleep(time.Until(began.Add(r.For)))
	return nil
}

// strike does one fault.
func (s Stage) strike(f Fault, crew *crew) error {
	if f.Worker {
		crew.strike(f)
		return nil
	}
	nemeses := s.World.Nemeses()
	i := slices.IndexFunc(nemeses, func(n world.Nemesis) bool { return n.Name == f.Name })
	if i < 0 {
		return fmt.Errorf("the world cannot do %s", f.Name)
	}
	return nemeses[i].Strike(rand.New(rand.NewPCG(f.Seed, 0)), f.For)
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// left returns a finding if something is still in the servers when nothing may be there.
func (s Stage) left() ([]check.Finding, error) {
	for over := time.Now().Add(s.Times.Clean); ; time.Sleep(50 * time.Millisecond) {
		keys, err := s.World.Left()
		switch {
		case err != nil && time.Now().After(over):
			return nil, err
		case err == nil && len(keys) == 0:
			return nil, nil
		case err == nil && time.Now().After(over):
			return []check.Finding{{
				Promise: check.Clean,
				Text:    fmt.Sprintf("%v after everybody has ended these keys are there: %s", s.Times.Clean, strings.Join(keys, ", ")),
			}}, nil
		}
	}
}

// check has the checkers look at the history whose promise nothing may have broken.
func (s Stage) check(h *history.History, endless bool, broken []check.Promise, result *Result) {
	bounds := s.Bounds
	bounds.Endless = endless
	for _, c := range s.Checkers {
		if slices.Contains(broken, c.Promise) || c.Promise == check.Linear && !endless ||
			(c.Promise == check.Handover || c.Promise == check.Prompt) && slices.Contains(broken, check.Order) { // a line may be lost
			continue
		}
		seen := h
		if c.Promise == check.Fencing && losesData(broken) {
			seen = withoutResources(h)
		}
		found, looked := c.Check(seen, bounds)
		result.Found = append(result.Found, found...)
		result.Looked[c.Promise] += looked
		result.Checked[c.Promise]++
	}
}

// losesData reports whether the servers may have lost something that was stored there: locks, and whatever else.
func losesData(broken []check.Promise) bool {
	return slices.Contains(broken, check.Exclusion) || slices.Contains(broken, check.Answers)
}

// withoutResources leaves out what resources were asked to take. They are in the same servers as the locks, so that they may
// have forgotten what they have taken; the numbers of locks grow all the same.
func withoutResources(h *history.History) *history.History {
	return &history.History{
		Events: slices.DeleteFunc(slices.Clone(h.Events), func(e history.Event) bool { return e.Action == history.Enter }),
	}
}
