package tree

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/internal/check"
)

// drawn is what the command writes with some flags. Of those, --colour is for the test alone.
func drawn(t *testing.T, v *view, flags string) string {
	t.Helper()
	var b bytes.Buffer
	p := &printer{
		view: v, names: namesOf(v.settled), screen: cli.NewScreen(&b), most: 10,
		only: strings.Contains(flags, "--deadlocks"), propose: new(cli.Redis).Propose,
	}
	if _, number, ok := strings.Cut(flags, "--waiters "); ok {
		p.most = check.Must[int](t)(strconv.Atoi(number))
	}
	if strings.Contains(flags, "--ascii") {
		p.names.glyphs = plain
	}
	p.screen.Colour = strings.Contains(flags, "--colour")
	switch {
	case strings.Contains(flags, "--json"):
		check.NoError(t, v.writeJSON(&b, p.only))
	case strings.Contains(flags, "--dot"):
		check.NoError(t, v.writeDot(&b))
	default:
		check.NoError(t, p.print(&b))
	}
	return b.String()
}

// The file has situations, as statesOf reads them, and what the command writes of each. UPDATE_VIEWS=1 writes it anew.
func TestViews(t *testing.T) {
	t.Parallel()
	const file = "testdata/views.txt"
	want := string(check.Must[[]byte](t)(os.ReadFile(file)))
	var got strings.Builder
	for _, part := range strings.Split(want, "== ")[1:] {
		lines := strings.Split(part, "\n")
		v := viewOf(t, statesOf(lines[1]))
		fmt.Fprintf(&got, "== %s\n%s\n", lines[0], lines[1])
		for _, line := range lines[2:] {
			if flags, ok := strings.CutPrefix(line, "$ tree"); ok {
				fmt.Fprintf(&got, "%s\n%s", line, strings.ReplaceAll(drawn(t, v, flags), "\x1b", "^["))
			}
		}
	}
	if os.Getenv("UPDATE_VIEWS") != "" {
		check.NoError(t, os.WriteFile(file, []byte(got.String()), 0o644))
	} else if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("what the command writes (-want +got):\n%s", diff)
	}
}

// Whatever keys and metadata are, a line has 80 columns at most, and nothing of them reaches the terminal as it is.
func TestPictureFits(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("order/", 40) + "\x1b[31m\n"
	states := statesOf("a w A < B:w1 C:w3 d:w4", "b w B < A:w2", "c r C q < E:w5", "d w E < F:w6", "e w F < G:w7", "f w G < H:w8",
		"g w H < I:w9", "h w I < J:w10", "i w J < K:w11")
	for i := range states {
		states[i].Key = states[i].Key + long
		for h := range states[i].Holders {
			states[i].Holders[h].Metadata = "host=" + strings.Repeat("web", 30) + " pid=1 prog=shop since=x"
			states[i].Holders[h].Since = start
		}
	}
	v := viewOf(t, states)
	got := drawn(t, v, "")
	for line := range strings.Lines(got) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("%d columns: %q", n, line)
		}
	}
	if strings.Contains(got, "\x1b") || !strings.Contains(got, "see [") {
		t.Errorf("got %q", got)
	}
}

// Every waiter is drawn once in each of its lines, or counted.
func TestPictureIsComplete(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3000) {
		m := newModel(randomStates(rand.New(rand.NewPCG(seed, 5))))
		for _, most := range []int{0, 1, 2} {
			p := &printer{view: &view{model: m}, names: namesOf(m), most: most}
			rows := p.grow()
			numbers, counted := labels(rows), 0
			for i, r := range rows {
				counted += waitersOf(t, r)
				if r.refers != nobody && numbers[r.refers] == 0 {
					t.Fatalf("seed %d: row %d refers to what is not drawn", seed, i)
				}
			}
			if want := waiters(m); counted != want {
				t.Fatalf("seed %d: %d waiters are drawn or counted with --waiters %d, want %d: %v", seed, counted, most, want, m.states)
			}
		}
	}
}

// waitersOf is how many waiters a row shows, or counts.
func waitersOf(t *testing.T, r row) int {
	t.Helper()
	isFirst := strings.HasSuffix(r.tail, ", first in line") && r.refers == nobody // of a line that stands beneath it
	if isFirst || strings.HasPrefix(r.tail, ", to ") {
		return 1
	}
	if _, more, ok := strings.Cut(r.lead, boxes.dots+" "); ok {
		number, _, _ := strings.Cut(more, " ")
		return check.Must[int](t)(strconv.Atoi(number))
	}
	return 0
}

// waiters is how many waiters of all lines have somebody in their way because of this line.
func waiters(m *model) (n int) {
	for state, line := range m.lines {
		isBlocked := slices.ContainsFunc(line, func(s stand) bool { return m.isHeldAgainst(state, s.mode) })
		if isBlocked || len(line) > 1 {
			n += len(line)
		}
	}
	return n
}

func TestManyWaiters(t *testing.T) {
	t.Parallel()
	var line strings.Builder
	line.WriteString("a w A <")
	for i := range 10_000 {
		fmt.Fprintf(&line, " x%d:w%d", i%7, i+1)
	}
	got := drawn(t, viewOf(t, statesOf(line.String())), "")
	if lines := strings.Count(got, "\n"); lines > 20 || !strings.Contains(got, "… 9 990 more\n") {
		t.Errorf("%d lines:\n%.2000s", lines, got)
	}
	if all := drawn(t, viewOf(t, statesOf(line.String())), "--waiters 0"); strings.Count(all, "\n") < 10_000 {
		t.Error("--waiters 0 does not draw all")
	}
}
