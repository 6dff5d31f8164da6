package check_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/proof/torture/check"
	"github.com/seed-14de3678/redislock/proof/torture/history"
)

// bounds are those of histories that are written by hand.
var bounds = check.Bounds{Late: 200 * time.Millisecond, Progress: 5 * time.Second, Shift: 500 * time.Millisecond}

// story makes a history of lines. A line has the ms, the process and its operation, the kind, the action of a Call or the
// outcome of a Return, and then fields such as write=a,b or until=700:
//
//	100 1.1 call obtain write=a ttl=600
//	110 1.1 return ok until=700
//	500 1 stall for=300
//	900 0 killed op=1
func story(t *testing.T, text string) *history.History {
	t.Helper()
	h := &history.History{}
	actions := map[string]history.Action{}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		e, rest := history.Event{At: ms(t, words[0]), Kind: history.Kind(words[2])}, words[3:]
		process, op, _ := strings.Cut(words[1], ".")
		e.Process, e.Op = number(t, process), number(t, "0"+op)
		switch e.Kind {
		case history.Call:
			e.Action, rest = history.Action(rest[0]), rest[1:]
			actions[words[1]] = e.Action
			if e.Action == history.Obtain {
				e.Way = history.Once // unless it says another
			}
		case history.Return:
			e.Outcome, rest = history.Outcome(rest[0]), rest[1:]
			e.Action = actions[words[1]]
		}
		for _, field := range rest {
			set(t, &e, field)
		}
		h.Events = append(h.Events, e)
	}
	h.Sort()
	return h
}

func set(t *testing.T, e *history.Event, field string) {
	t.Helper()
	name, value, _ := strings.Cut(field, "=")
	switch name {
	case "write":
		e.Write = strings.Split(value, ",")
	case "read":
		e.Read = strings.Split(value, ",")
	case "way":
		e.Way = history.Way(value)
	case "package":
		e.Package = history.Package(value)
	case "ttl":
		e.TTL = ms(t, value)
	case "wait":
		e.Wait = ms(t, value)
	case "kept":
		e.Kept = ms(t, value)
	case "passon":
		e.PassOn = ms(t, value)
	case "local":
		e.Local = true
	case "came":
		e.Came = history.Came(value)
	case "until":
		e.Until = ms(t, value)
	case "for":
		e.For = ms(t, value)
	case "fence":
		e.Fence = int64(number(t, value))
	case "lock":
		e.Lock = number(t, value)
	case "op":
		e.Op = number(t, value)
	case "token":
		e.Token = value
	case "owner":
		e.Owner = value
	case "held":
		e.Held = value
	case "inway":
		e.InWay = value
	case "error":
		e.Error = strings.ReplaceAll(value, "_", " ")
	case "is":
		e.Is = strings.Split(value, ",")
	case "name":
		e.Name = value
	case "watched":
		e.Watched = true
	case "renewed":
		e.Renewed = true
	case "fenced":
		e.Fenced = true
	default:
		t.Fatalf("unknown field %q", field)
	}
}

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func ms(t *testing.T, text string) time.Duration {
	t.Helper()
	return time.Duration(number(t, text)) * time.Millisecond
}

// run has all checkers look at a history.
func run(h *history.History, b check.Bounds) (found []check.Finding, looked map[check.Promise]int) {
	looked = map[check.Promise]int{}
	for _, c := range check.Checkers() {
		f, n := c.Check(h, b)
		found, looked[c.Promise] = append(found, f...), n
	}
	return found, looked
}

// lines are findings, one in each line.
func lines(found []check.Finding) string {
	var b strings.Builder
	for _, f := range found {
		fmt.Fprintln(&b, f)
	}
	return b.String()
}

// A sample is a small history, and what is to be found in it: by the checker of one promise alone, or nothing.
type sample struct {
	name    string
	text    string
	promise check.Promise // "": nothing is wrong
	says    string        // a part of the text of the finding
	also    check.Promise // that is broken by it, too
	endless bool
}

// try runs all checkers on samples.
func try(t *testing.T, samples []sample) {
	t.Helper()
	for _, s := range samples {
		t.Run(s.name, func(t *testing.T) {
			b := bounds
			b.Endless = s.endless
			found, _ := run(story(t, s.text), b)
			if s.promise == "" {
				if len(found) > 0 {
					t.Errorf("nothing is wrong, but found:\n%s", lines(found))
				}
				return
			}
			found = slices.DeleteFunc(found, func(f check.Finding) bool { return f.Promise == s.also })
			if len(found) == 0 {
				t.Fatalf("nothing found, want a breach of %s", s.promise)
			}
			for _, f := range found {
				if f.Promise != s.promise {
					t.Errorf("found %s, want a breach of %s alone", f, s.promise)
				}
				if !strings.Contains(f.Text, s.says) {
					t.Errorf("the text %q does not contain %q", f.Text, s.says)
				}
				if len(f.Events) == 0 {
					t.Errorf("no events show it: %s", f)
				}
			}
		})
	}
}
