package watch

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cells"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/watch/term"
)

// frameOf makes a frame of keys.
func frameOf(width, height int, states ...redislock.KeyState) frame {
	var keys []string
	for _, state := range states {
		keys = append(keys, state.Key)
	}
	table := newTable(keys)
	table.observe(at(0, states...))
	table.observe(at(20, states...))
	rows := table.rows()
	f := frame{view: view{width: width, height: height}, rows: rows, totals: totals(rows, false), colour: true}
	f.status = status{server: "127.0.0.1:6379, database 0", budget: 2000}
	order(f.rows, 0)
	return f
}

// some are keys with everything that can be of a key.
func some(n int) []redislock.KeyState {
	states := []redislock.KeyState{
		held("stuck", "host=web-1", 2*time.Second, waits(0), dead(1)),
		held("世界:\x1b[2J:e\u0301", "🔒\r\n", time.Minute),
		held("with-a-very-long-name-which-nobody-can-read-in-eighty-columns:but:the:end:matters:17", "a", time.Minute),
		{
			Key: "read", Mode: redislock.ModeRead, TTL: time.Minute, Fence: 7, Intent: &redislock.Holder{Metadata: "w", TTL: time.Second},
			Holders: []redislock.Holder{{Metadata: "r1", Left: true}, {Caller: "x"}, {}},
		},
		{Key: "list", Mode: redislock.ModeForeign, Type: "list\x1b", TTL: -1},
		free("free"),
	}
	for i := range n {
		states = append(states, held(fmt.Sprintf("k%03d", i), "a", time.Minute))
	}
	return states
}

func TestDraw(t *testing.T) {
	t.Parallel()
	f := frameOf(80, 10, some(20)...)
	got := onScreen(t, draw(f), 80)
	//nolint:dupword // columns
	want := `26 keys: 24 held (1 read), 1 line, 1 waiter, longest 20s, 1 stuck, 1 slow
< KEY      MODE    HOLDER                     HELD   TTL   WAIT LONGEST HANDED/S
! stuck    write   host=web-1                 >20s  2.0s    1+1     20s        -
~ list     foreign -                             -  none      -       -        -
  free     free    -                             -     -      -       -        -
  k000     write   a                          >20s 1m00s      -       -        -
  k001     write   a                          >20s 1m00s      -       -        -
  k002     write   a                          >20s 1m00s      -       -        -
stuck: held for >20s by the same; 1 waiter, the first for 20s, 10 leases
127.0.0.1:6379, database 0 | at most 2000 commands/s              h help, q quit
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestDrawStatus(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		change func(*frame)
		want   string
	}{
		{"away", func(f *frame) { f.status.away, f.status.since = errors.New("broken\n\x1b[2Jpipe"), at(-60).at }, "away since 02:59:00, trying again"},
		{"search", func(f *frame) { f.status.search = errors.New("NOPERM scan") }, "cannot search: NOPERM scan"},
		{"searching", func(f *frame) { f.status.searching, f.status.part = true, 0.25 }, "searching, 25 %"},
		{"paused", func(f *frame) { f.view.paused = true }, "paused | 127"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := frameOf(100, 24, some(0)...)
			tt.change(&f)
			lines := strings.Split(onScreen(t, draw(f), 100), "\n")
			if last := lines[23]; !strings.Contains(last, tt.want) {
				t.Errorf("the last line is %q, want %q in it", last, tt.want)
			}
		})
	}
}

// The help fits a screen of 80 by 24, above the last line.
func TestHelpFits(t *testing.T) {
	t.Parallel()
	lines := strings.Split(help, "\n")
	if len(lines) > 23 {
		t.Errorf("the help has %d lines, want 23 at most", len(lines))
	}
	for _, text := range lines {
		if len(text) > 80 {
			t.Errorf("%d columns: %s", len(text), text)
		}
	}
}

// On any size, with the help and without, everything that is drawn is drawn whole: columns do not move, and nothing moves the cursor.
func TestDrawAnySize(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{80, 24}, {40, 10}, {200, 60}, {1, 1}, {2, 2}, {3, 80}, {9, 3}, {80, 1}, {80, 4}, {20, 5}, {0, 0}, {-1, -1}} {
		for _, isHelp := range []bool{false, true} {
			for _, n := range []int{0, 100} {
				f := frameOf(size[0], size[1], some(n)...)
				f.view.help, f.view.selected = isHelp, "stuck"
				f.view.follow(f.rows)
				checkDrawn(t, f)
			}
		}
	}
}

// told is what a terminal is told beside text: a style, to erase the rest of the line, and in which column to go on.
var told = regexp.MustCompile(`\x1b\[(0(?:;\d+)*m|K|\d+G)`)

// onScreen returns what a screen of so many columns shows when it is told to draw a frame. The frame must not rely on where the
// cursor is behind what is not ASCII, move anything else, or erase what it has drawn.
func onScreen(t *testing.T, frame string, width int) string {
	t.Helper()
	var screen strings.Builder
	for _, line := range strings.Split(frame, "\r\n") {
		var text strings.Builder
		sure := true // where the cursor is
		for line != "" {
			at := told.FindStringSubmatchIndex(line)
			if at == nil {
				at = []int{len(line), len(line), len(line), len(line)}
			}
			part, what := line[:at[0]], line[at[2]:at[3]]
			if !sure && part != "" {
				t.Errorf("%q follows what is not ASCII in %q", part, frame)
			}
			text.WriteString(part)
			sure = sure && len(part) == utf8.RuneCountInString(part)
			x := cells.Width(text.String())
			switch {
			case what == "K" && x >= max(1, width):
				t.Errorf("the last column is erased in %q", frame)
			case strings.HasSuffix(what, "G"):
				to, _ := strconv.Atoi(strings.TrimSuffix(what, "G"))
				if to-1 < x || to > width {
					t.Errorf("from column %d it goes on in %d of %d in %q", x+1, to, width, frame)
				}
				text.WriteString(strings.Repeat(" ", max(0, to-1-x)))
				sure = true
			}
			line = line[at[1]:]
		}
		if n := cells.Width(text.String()); n > max(0, width) || strings.ContainsFunc(text.String(), unicode.IsControl) {
			t.Errorf("%d columns of %d: %q", n, width, &text)
		}
		screen.WriteString(strings.TrimRight(text.String(), " ") + "\n")
	}
	return screen.String()
}

// checkDrawn draws a frame, and looks for what a terminal could show otherwise.
func checkDrawn(t *testing.T, f frame) {
	t.Helper()
	screen := onScreen(t, draw(f), f.view.width)
	if got := strings.Count(screen, "\n"); got != max(1, f.view.height) {
		t.Errorf("%d lines of %d:\n%s", got, f.view.height, screen)
	}
}

// On a terminal that knows no wide characters everything else stands where it should.
func TestDrawKeepsColumns(t *testing.T) {
	t.Parallel()
	p := &painter{width: 20, lines: make([]string, 1)}
	p.line(0, bold, "!", " "+cells.Fit("世界", 6, false), " b")
	if want := "\x1b[0;1m! 世界  \x1b[0m\x1b[K\x1b[9G\x1b[0;1m b\x1b[0m\x1b[K"; p.lines[0] != want {
		t.Errorf("got %q, want %q", p.lines[0], want)
	}
}

// Where there is little room the key and its holder share it, down to a least width, and what is behind is cut.
func TestFit(t *testing.T) {
	t.Parallel()
	rows := frameOf(80, 24, held(strings.Repeat("k", 100), strings.Repeat("h", 100), time.Minute), held("k", "h", time.Minute)).rows
	for width, want := range map[int][2]int{0: {64, 64}, 80: {17, 17}, 62: {8, 8}, 20: {8, 8}, 240: {64, 130}} {
		fields, used := fit(width, rows), 1
		for _, f := range fields {
			used += 1 + f.width
		}
		if got := [2]int{fields[0].width, fields[2].width}; got != want || width >= 62 && used != width {
			t.Errorf("%d columns: the key has %d and the holder %d, of %d in all, want %d", width, got[0], got[1], used, want)
		}
	}
}

// Every column sorts.
func TestOrder(t *testing.T) {
	t.Parallel()
	one := func(key string, mode redislock.Mode, ttl time.Duration, r row) row {
		r.Key, r.Mode, r.TTL = key, mode, ttl
		return r
	}
	rows := []row{
		one("a", redislock.ModeRead, 3, row{holder: "z", held: 1, waiting: 1, longest: 9, rate: 2}),
		one("b", redislock.ModeWrite, -1, row{holder: "y", held: 2, waiting: 2, longest: 8, rate: 3, level: slow}),
		one("c", redislock.ModeFree, 5, row{held: 0, waiting: 3, longest: 7, rate: 1, level: stuck}),
	}
	want := map[string]string{
		"S": "cba", "K": "abc", "M": "bac", "O": "bac", "H": "bac", "T": "bca", "W": "cba", "L": "abc", "N": "bac",
	}
	for letter, want := range want {
		var v view
		v.press(letter, rows)
		order(rows, v.sort)
		if got := rows[0].Key + rows[1].Key + rows[2].Key; got != want || columns[v.sort].letter != letter {
			t.Errorf("%s: got %s, want %s", letter, got, want)
		}
	}
	if len(want) != len(columns) {
		t.Errorf("%d columns are sorted by, of %d", len(want), len(columns))
	}
}

// The cursor moves, stays on its key when the order changes, and is always on the screen.
func TestCursor(t *testing.T) {
	t.Parallel()
	f := frameOf(80, 14, some(94)...) // 100 keys, 10 on the screen
	v := &f.view
	v.press("K", f.rows)
	order(f.rows, v.sort)
	for _, tt := range []struct {
		key   string
		index int
	}{
		{"[A", 0},
		{"[B", 1},
		{"j", 2},
		{"k", 1},
		{"[6~", 10},
		{"[5~", 1},
		{"[F", 99},
		{"OB", 99},
		{"[5~", 90},
		{"g", 0},
		{"G", 99},
		{"[1~", 0},
	} {
		v.press(tt.key, f.rows)
		v.follow(f.rows)
		if got := v.index(f.rows); got != tt.index || got < v.top || got >= v.top+v.room() {
			t.Errorf("after %q the cursor is on row %d of those from %d on, want %d", tt.key, got, v.top, tt.index)
		}
	}
	v.press("j", f.rows)
	key := f.rows[1].Key
	slices.Reverse(f.rows)
	v.follow(f.rows)
	if got := v.index(f.rows); f.rows[got].Key != key || got < v.top || got >= v.top+v.room() {
		t.Errorf("the cursor is on %q, row %d of those from %d on, want %q", f.rows[got].Key, got, v.top, key)
	}
	v.press("G", nil) // nothing is left
	v.follow(nil)
	if v.top != 0 {
		t.Errorf("of no rows those from %d on are shown", v.top)
	}
}

// The help is shown until a key is pressed, which does nothing else, unless it is one to pause or to quit.
func TestHelpEnds(t *testing.T) {
	t.Parallel()
	rows := frameOf(80, 24, some(0)...).rows
	for _, key := range []string{"h", "?", "K", "[B", "\r"} {
		v := view{width: 80, height: 24}
		if v.press("h", rows); !v.help {
			t.Fatal("h shows no help")
		}
		if v.press(key, rows); v != (view{width: 80, height: 24}) {
			t.Errorf("after %q the view is %+v", key, v)
		}
	}
	v := view{help: true}
	v.press("p", rows)
	v.press("q", rows)
	if !v.help || !v.paused || !v.quit {
		t.Errorf("after p and q: %+v", v)
	}
}

func FuzzDraw(f *testing.F) {
	f.Add("orders:17", "host=web-1", 80, 24, "Kjjh")
	f.Add("世界\x1b[2J\u0301\u202e", "\xff\x00", 7, 3, "世\x1b[B")
	f.Add("", "", 1, 1, "??GgpM")
	f.Fuzz(func(t *testing.T, key, metadata string, width, height int, keys string) {
		width, height = width%300, height%100
		state := held(key, metadata, time.Minute, waits(0))
		state.Line[0].Metadata, state.Type = metadata, key
		other := state
		other.Key, other.Mode = key+"2", redislock.ModeForeign
		f := frameOf(width, height, append(some(5), state, other)...)
		f.status.server, f.status.away = metadata, errors.New(key)
		checkDrawn(t, f)
		keys = keys[:min(len(keys), 20)]
		for keys != "" && !f.view.quit {
			var pressed string
			if pressed, keys = term.NextKey(keys); pressed == "" {
				break
			}
			f.view.press(pressed, f.rows)
			f.view.follow(f.rows)
			checkDrawn(t, f)
		}
	})
}
