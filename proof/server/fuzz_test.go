package server

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-14de3678/redislock/internal/redistest"
)

var (
	duration = flag.Duration("for", 0, "how long the scripts are compared with the model; 0: for as many courses as in the gate")
	oneSeed  = flag.Int64("seed", -1, "the seed of one course to play")
)

const (
	courses = 2000 // in the gate
	length  = 10   // steps of a course
)

// others are courses behind those of the gate, which meet what those do not.
var others = []uint64{2355, 2509, 4491}

// players play at once, each with a server of its own.
var players = []redistest.Kind{redistest.Redis, redistest.Valkey}

// Whatever a server holds, and whatever is asked in which order, each script replies what the model says, publishes the same, and leaves
// the same keys with the same leases.
func TestScriptsAreAsTheModel(t *testing.T) {
	t.Parallel()
	first, end := uint64(0), uint64(courses+len(others))
	if *oneSeed >= 0 {
		first, end = uint64(*oneSeed), uint64(*oneSeed+1)
	}
	until := time.Now().Add(*duration)
	if *duration > 0 {
		first, end = uint64(until.UnixNano()), 1<<63
	}
	seen, next := &met{}, atomic.Uint64{}
	next.Store(first)
	t.Run("play", func(t *testing.T) {
		for _, kind := range players {
			t.Run(string(kind), func(t *testing.T) {
				t.Parallel()
				s := newScriptServer(t, kind)
				for seed := next.Add(1) - 1; seed < end; seed = next.Add(1) - 1 {
					if first == 0 && seed >= courses {
						seed = others[seed-courses]
					}
					if same := compare(t, s, course{seed: seed, edges: true}, seen); !same || *duration > 0 && time.Now().After(until) {
						next.Store(end)
					}
				}
			})
		}
	})
	t.Logf("from seed %d on:%s", first, seen)
	if *oneSeed < 0 && *duration == 0 && !t.Failed() {
		seen.want(t)
	}
}

// Courses on which the servers once did not do the same, which the first seeds do not come across.
func TestCoursesThatDiffered(t *testing.T) {
	t.Parallel()
	s := newScriptServer(t, redistest.Redis)
	for _, c := range []course{
		{seed: 1795701636249993405, first: true}, // a line and a hash of fencing numbers that are none
		{seed: 1795704641277237712, first: true}, // a waiter that nobody hears, as a release has found out, would be told of a lease
		{seed: 1795704901385173062, first: true}, // a line that lasts for longer than waiters need
		{seed: 1795703111587354313, first: true}, // a line that lasts for less long than its last entry says
		{seed: 1795740659105296788, first: true}, // an entry with a letter that no entry has at its place
		{seed: 1795738888664173633, first: true}, // waiters whose token has been given the key, at two places in their lines
		{seed: 1795738470562463183, first: true}, // a waiter whose token has been given the key, which nobody hears
		{seed: 1795737724789621488, first: true}, // a waiter that is told to ask, and by when, in another order
		{seed: 1795736804371882293, first: true}, // a writer that counted as dead is kept in its line, before a reader that is asked for by the same run
		{seed: 1795704589619114119, first: true}, // a dead waiter behind one that is handed a set, with its token
		{seed: 1795701934485466675, first: true}, // a waiter that nobody hears is dropped from a line in which it was written anew
		{seed: 1795749155578098309},              // a waiter that enters before others, of whom the script knew who was first
	} {
		for c.order = range hearings { // nobody has written down which one it was
			compare(t, s, c, &met{})
		}
	}
}

// A course is thrown by the seed of its dice.
type course struct {
	seed  uint64
	first bool // it has only what the first courses had: nobody has an age, and nobody is given keys by a Release
	order int  // of hearings
	edges bool // it begins with what the scripts tell apart by one
}

// compare plays one course, and reports whether the servers do the same. If not it shows the shortest course on which they differ as well.
func compare(t *testing.T, s *scriptServer, of course, seen *met) (same bool) {
	t.Helper()
	seed := of.seed
	d, start := newDice(seed)
	if of.edges {
		dice{Rand: rand.New(rand.NewPCG(seed, 3)), names: d.names}.edges(start)
	}
	thrower, rest := d.thrower(of), length
	c := &Course{Start: start, Seen: seen}
	diff, err := c.play(t.Context(), s, func(space Space) (Step, bool) {
		rest--
		return thrower.step(space), rest >= 0
	})
	if err != nil {
		t.Errorf("seed %d: %v", seed, err)
		return false
	}
	if diff == "" {
		return true
	}
	least := c.shrink(t.Context(), s)
	if diff, err = least.play(t.Context(), s, nil); diff == "" {
		t.Errorf("seed %d: another time they do not differ: %v", seed, err)
	}
	t.Errorf("seed %d, shortened; all of it again by -run TestScriptsAreAsTheModel -seed %d\n%s\n%s", seed, seed, least, diff)
	return false
}

// A met counts what courses have met. It is safe for concurrent use; nil counts nothing.
type met struct {
	mu       sync.Mutex
	all      map[string]int
	commands map[string]int // by script
}

// note counts what a step has come to: its code, or error, and the messages that it has published or told the caller.
func (m *met) note(e Step, o Outcome) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	list, ok := o.Reply.([]any)
	if !ok {
		list = []any{o.Reply}
	}
	what := fmt.Sprint(list[0])
	note(&m.commands, e.Script, m.commands[e.Script]+o.Commands)
	switch {
	case o.Err != nil:
		what = wordOf(o.Err)
		what, _, _ = strings.Cut(what, " ")
	case e.Script == "batch" || e.Script == "again":
		what = ""
	case e.Script == "rw" && len(list) > 3 && list[0] != int64(Done):
		what += " " + list[2].(string)
	}
	count(&m.all, e.Script+" "+what)
	for _, message := range o.Messages {
		count(&m.all, e.Script+" says "+message.Text[:1])
	}
	if text, ok := list[len(list)-1].(string); ok && (text == "more" || text == "open") {
		count(&m.all, e.Script+" "+text)
	}
}

func count(all *map[string]int, what string) { note(all, what, (*all)[what]+1) }

func (m *met) String() (text string) {
	var lines []string
	for what, n := range m.all {
		lines = append(lines, fmt.Sprintf("%s: %d", what, n))
	}
	slices.Sort(lines)
	return "\n  " + strings.Join(lines, "\n  ")
}

// want ends the test if there was nothing of some kind: then the courses have shown nothing of it.
func (m *met) want(t *testing.T) {
	t.Helper()
	for _, what := range []string{
		"obtain 1", "obtain 0", "obtain -3", "rw 1", "rw 0 write", "rw 0 read", "rw 0 foreign", "rw 0 intent", "rw 0 queue", "rw 0 restarted",
		"rw 0 write-left", "rw -2 write", "rw -2 read", "rw -2 queue", "rw -3", "rw FOREIGNFENCE", "release 1", "release -1", "release -3",
		"release open", "release more", "release says g", "release says w", "release says h", "rw says g", "rw says w", "convert 1",
		"convert 0", "convert -1", "convert says g", "refresh 1", "refresh -1", "refresh -3", "refresh says h", "pttl 1", "pttl -1", "raise 1",
		"raise -1", "raise FOREIGNFENCE", "break 1", "break 0", "break says b", "break says g", "batch ", "again ", "inspect free",
		"inspect write", "inspect read", "inspect foreign",
	} {
		if m.all[what] == 0 {
			t.Errorf("no course has met %q", what)
		}
	}
	if diff := cmp.Diff(commands, m.commands); diff != "" {
		t.Errorf("the scripts have run more commands or fewer than they did before (-):\n%s", diff)
	}
}

// commands are how many each script runs in all courses of the gate together. A short cut that is not taken any more changes
// nothing else that the courses show. Whoever changes a script says here what that costs or saves.
var commands = map[string]int{
	"again": 21620, "batch": 4908, "break": 33319, "convert": 36254, "inspect": 8445, "obtain": 25107,
	"pttl": 3319, "raise": 16421, "refresh": 13048, "release": 49320, "rw": 142393,
}
