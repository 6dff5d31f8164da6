package tree

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// start is the moment of place 0.
var start = time.UnixMicro(1_800_000_000_000_000)

// statesOf makes states of lines, or of lines in one text with semicolons between them, such as
//
//	a w A ~B < C:w1 !d:r2 intent:E
//
// Key a is held to write by A, and left by B. C stands in line in place 1 to write, d in place 2 to read, but is gone; E has an
// intent. Who begins with a capital letter is a caller, and A@1 one in process 1; "_" is nobody known; all others are metadata.
func statesOf(lines ...string) []redislock.KeyState {
	var states []redislock.KeyState
	for line := range strings.SplitSeq(strings.Join(lines, ";"), ";") {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		s := redislock.KeyState{Key: fields[0], Mode: map[string]redislock.Mode{
			"w": redislock.ModeWrite, "r": redislock.ModeRead, "-": redislock.ModeFree, "x": redislock.ModeForeign,
		}[fields[1]], TTL: time.Minute}
		if s.Mode == redislock.ModeForeign {
			s.Type, s.TTL = "hash", -1
		}
		for _, word := range fields[2:] {
			addWord(&s, word)
		}
		states = append(states, s)
	}
	return states
}

func addWord(s *redislock.KeyState, word string) {
	name, wish, waits := strings.Cut(word, ":")
	switch {
	case word == "<":
	case name == "intent":
		metadata, caller := whoIs(wish)
		s.Intent = &redislock.Holder{Metadata: metadata, Caller: caller, TTL: time.Second}
	case waits:
		metadata, caller := whoIs(strings.TrimPrefix(name, "!"))
		place, _ := strconv.Atoi(wish[1:])
		s.Line = append(s.Line, redislock.Waiter{
			Mode: map[byte]redislock.Mode{'w': redislock.ModeWrite, 'r': redislock.ModeRead}[wish[0]], Metadata: metadata, Caller: caller,
			Since: start.Add(time.Duration(place) * time.Microsecond), Alive: name[0] != '!',
		})
	default:
		metadata, caller := whoIs(strings.TrimPrefix(name, "~"))
		s.Holders = append(s.Holders, redislock.Holder{
			Metadata: metadata, Caller: caller, Mode: s.Mode, Left: name[0] == '~', TTL: time.Minute,
		})
	}
}

func whoIs(name string) (metadata, caller string) {
	name, process, _ := strings.Cut(name, "@")
	if process != "" {
		metadata = "host=web-" + process + " pid=1 prog=shop since=2026-03-01T09:26:53Z"
	}
	switch {
	case name == "_" || name == "":
		return metadata, ""
	case strings.ToUpper(name[:1]) == name[:1]:
		return metadata, name
	}
	return name, ""
}

// told is a deadlock as text: "certain A a B b A" if A wants a, which B holds, and B wants b, which A holds. "a<" says that B stands
// before A in the line of a.
func (d *deadlock) told(m *model) string {
	var rounds []string
	for i := range d.Steps {
		var words []string
		for k := range d.Steps {
			s := d.Steps[(i+k)%len(d.Steps)]
			p := m.parties[s.party]
			words = append(words, shortOf(p), m.states[s.state].Key+map[bool]string{true: "", false: "<"}[s.Why == held])
		}
		rounds = append(rounds, strings.Join(append(words, words[0]), " "))
	}
	return map[bool]string{true: "certain ", false: "possible "}[d.Certain] + slices.Min(rounds)
}

func shortOf(p party) string {
	switch {
	case p.caller != "":
		return p.caller
	case p.metadata != "":
		return p.metadata
	}
	return "_"
}

// unchanged is a server on which nothing happens.
func unchanged(states []redislock.KeyState) inspect {
	return func(_ context.Context, keys []string) ([]redislock.KeyState, error) {
		var found []redislock.KeyState
		for _, key := range keys {
			i := slices.IndexFunc(states, func(s redislock.KeyState) bool { return s.Key == key })
			if i < 0 {
				return nil, fmt.Errorf("no key %q", key)
			}
			found = append(found, states[i])
		}
		return found, nil
	}
}

func viewOf(t *testing.T, states []redislock.KeyState) *view {
	t.Helper()
	v, err := newView(t.Context(), states, unchanged(states), newMarker(nil), 0)
	if err != nil {
		t.Fatal(err)
	}
	v.now = start.Add(time.Minute + time.Millisecond) // the places differ by microseconds
	return v
}

func (v *view) told() []string {
	var all []string
	for _, d := range v.deadlocks {
		all = append(all, d.told(v.settled))
	}
	return all
}

// eachRow runs a test for each line of a file: its name, situations as statesOf reads them, and the deadlocks as told tells them.
func eachRow(t *testing.T, file string, found func(t *testing.T, fields []string) string) {
	t.Helper()
	for line := range strings.Lines(string(check.Must[[]byte](t)(os.ReadFile(file)))) {
		fields := strings.Split(strings.TrimSpace(line), "|")
		name, want := strings.TrimSpace(fields[0]), strings.TrimSpace(fields[len(fields)-1])
		if name == "" {
			continue // between two parts
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := found(t, fields[1:]); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}
