package doctor

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/world"
)

// judges are the judgements of what was seen, by the words of testdata/findings.txt: what stands before each semicolon, and behind
// the last. Where a check takes INFO and CONFIG GET these are the two parts.
var judges = map[string]func(t *testing.T, part []string) Finding{
	"version": func(_ *testing.T, part []string) Finding {
		words := strings.Fields(part[0])
		return judgeVersion(words[0], words[1], len(words) > 2)
	},
	"memory":      ofNode(checkMemory),
	"persistence": ofNode(checkPersistence),
	"buffers": func(_ *testing.T, part []string) Finding {
		return judgeBuffers(leastOf(strings.Fields(part[0])), strings.Join(part[1:], "\n"))
	},
	"latency": func(t *testing.T, part []string) Finding {
		t.Helper()
		return judgeLatency(timesOf(t, part[0]), timesOf(t, part[1]))
	},
	"refused": func(_ *testing.T, part []string) Finding { return notSeen(world.Refusal(part[0]), part[1]) },
	"replicas": func(t *testing.T, part []string) Finding {
		t.Helper()
		info := map[string]string{}
		for i, slave := range part[1:] {
			info[fmt.Sprint("slave", i)] = "ip=127.0.0.1,port=1,state=" + slave
		}
		return (&node{info: info}).judgePrimary(check.Must[int](t)(strconv.Atoi(part[0])))
	},
	"clocks": func(t *testing.T, part []string) Finding {
		t.Helper()
		d := durations(t, part[0])
		if r := (reading{d[0], d[1]}); len(d) == 2 {
			return judgeOurs(r)
		}
		return judgeReplicaClock(reading{d[0], d[1]}, d[2])
	},
	"library": func(_ *testing.T, part []string) Finding {
		return fine("%q", libraryOf(part[0], strings.Join(part[1:], "")))
	},
}

// ofNode is what a check finds on a server that has said so by INFO and by CONFIG GET.
func ofNode(look func(context.Context, *exam) Finding) func(*testing.T, []string) Finding {
	return func(t *testing.T, part []string) Finding {
		t.Helper()
		n := &node{info: pairs(part[0]), config: pairs(strings.Join(part[1:], ""))}
		return new(patient).look(t.Context(), n, look)
	}
}

func durations(t *testing.T, text string) (all []time.Duration) {
	t.Helper()
	for word := range strings.FieldsSeq(text) {
		all = append(all, check.Must[time.Duration](t)(time.ParseDuration(word)))
	}
	return all
}

// timesOf are as many times as a check takes: four fifths are the first of a text, and the others the last.
func timesOf(t *testing.T, text string) times {
	t.Helper()
	all := durations(t, text)
	return append(slices.Repeat(times{all[0]}, tries*8/10), slices.Repeat(times{all[len(all)-1]}, tries*2/10)...)
}

// The file has what was seen, and what is said of it. UPDATE_FINDINGS=1 writes it anew. What is bad says how to mend it.
func TestFindings(t *testing.T) {
	t.Parallel()
	const file = "testdata/findings.txt"
	want := string(check.Must[[]byte](t)(os.ReadFile(file)))
	var got strings.Builder
	r := newReport(&got, false, false)
	for line := range strings.Lines(want) {
		if strings.HasPrefix(line, "== ") {
			got.WriteString(line)
		}
		seen, ok := strings.CutPrefix(line, "$ ")
		if !ok {
			continue
		}
		got.WriteString(line)
		name, rest, _ := strings.Cut(strings.TrimSpace(seen), " ")
		part := strings.Split(rest, ";")
		for i := range part {
			part[i] = strings.TrimSpace(part[i])
		}
		f := judges[name](t, part)
		if f.Check = name; (f.Status == Warning || f.Status == Fault) && f.Mend == "" {
			t.Errorf("%s it does not say how to mend it: %+v", line, f)
		}
		check.NoError(t, r.add([]Finding{f}))
	}
	if os.Getenv("UPDATE_FINDINGS") != "" {
		check.NoError(t, os.WriteFile(file, []byte(got.String()), 0o644))
	} else if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("what is said (-want +got):\n%s", diff)
	}
}

// What servers have in common is one finding, and colours are on terminals alone.
func TestReport(t *testing.T) {
	t.Parallel()
	n := func(addr string) *node { return &node{addr: addr} }
	f := bad(Fault, "found", strings.Repeat("word ", 40), "mend it")
	merged := merge("eviction", []Finding{f.on(n("a:1")), fine("well").on(n("b:1")), f.on(n("c:1")), fine("all"), fine("all")})
	if got := fmt.Sprint(len(merged), merged[0].Servers, merged[1].Servers); got != "4 [a:1 c:1] [b:1]" {
		t.Errorf("merged: %s: %s", got, list(merged))
	}
	var b strings.Builder
	r := newReport(&b, false, true)
	check.NoError(t, r.add(merged))
	lines := strings.Split(b.String(), "\n")
	if want := "fault    eviction      found (a:1, c:1)"; lines[0] != want || strings.Contains(b.String(), "\x1b") {
		t.Errorf("%q, want %q", lines[0], want)
	}
	for _, line := range lines {
		if len(line) > width {
			t.Errorf("%d characters: %q", len(line), line)
		}
	}
	b.Reset()
	check.NoError(t, r.end(2, "cache-1"))
	if got := b.String(); got != "\n2 checks of cache-1: 1 fault, 0 warnings, 0 unknown, 3 ok\n" {
		t.Error(got)
	}
}
