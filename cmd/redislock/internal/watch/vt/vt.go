// Package vt is a terminal for tests: it does what it is told by escape sequences, as far as package watch uses them, and complains
// about all others.
package vt

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cells"
)

// A Terminal shows what is written to it. It is safe for concurrent use.
type Terminal struct {
	mu      sync.Mutex
	main    *buffer
	other   *buffer // nil: the main one is shown
	hidden  bool    // the cursor
	nowrap  bool
	style   string
	input   string // the begin of a sequence
	strange []string
	narrow  bool
}

// A cell is one character with its marks, or the right half of a wide one, which is empty.
type cell struct{ text, style string }

type buffer struct {
	width, height int
	x, y          int
	cells         [][]cell
}

func newBuffer(width, height int) *buffer {
	b := &buffer{width: width, height: height}
	for range height {
		b.cells = append(b.cells, emptyLine(width))
	}
	return b
}

func emptyLine(width int) []cell {
	line := make([]cell, width)
	for i := range line {
		line[i].text = " "
	}
	return line
}

// New makes a terminal of this size.
func New(width, height int) *Terminal { return &Terminal{main: newBuffer(width, height)} }

// Narrow makes it one that knows no wide characters, as some do.
func (t *Terminal) Narrow() *Terminal {
	t.narrow = true
	return t
}

// Resize gives it another size. What it showed is as it happens to be: lines and columns are cut off or added.
func (t *Terminal) Resize(width, height int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, b := range []*buffer{t.main, t.other} {
		if b == nil {
			continue
		}
		old := b.cells
		*b = *newBuffer(width, height)
		for y := range min(height, len(old)) {
			copy(b.cells[y], old[y])
		}
	}
}

// Write shows something.
func (t *Terminal) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.input += string(p)
	for t.input != "" {
		n := t.step(t.input)
		if n == 0 {
			break
		}
		t.input = t.input[n:]
	}
	return len(p), nil
}

func (t *Terminal) shown() *buffer {
	if t.other != nil {
		return t.other
	}
	return t.main
}

// step does what the input begins with, and returns its length; 0 if its end is not there yet.
func (t *Terminal) step(input string) int {
	b := t.shown()
	switch input[0] {
	case '\r':
		b.x = 0
		return 1
	case '\n':
		b.feed()
		return 1
	case '\a', '\b', '\t':
		t.complain(input[:1])
		return 1
	case 0x1b:
		return t.escape(input)
	}
	if !utf8.FullRuneInString(input) {
		return 0
	}
	r, n := utf8.DecodeRuneInString(input)
	if r < ' ' || r == utf8.RuneError || r >= 0x7f && r < 0xa0 {
		t.complain(input[:n])
		return n
	}
	t.show(b, r)
	return n
}

func (t *Terminal) complain(what string) { t.strange = append(t.strange, fmt.Sprintf("%q", what)) }

// feed goes to the next line.
func (b *buffer) feed() {
	if b.y++; b.y >= b.height {
		b.y = b.height - 1
		b.cells = append(b.cells[1:], emptyLine(b.width))
	}
}

// show shows one character where the cursor is.
func (t *Terminal) show(b *buffer, r rune) {
	width := cells.Width(string(r))
	isMark := r >= 0x300 && cells.Width("a"+string(r)) == 1
	switch {
	case isMark && b.x > 0:
		x := b.x - 1
		for x > 0 && b.cells[b.y][x].text == "" {
			x--
		}
		b.cells[b.y][x].text += string(r)
		return
	case t.narrow:
		width = 1
	}
	if b.x+width > b.width {
		if t.nowrap {
			b.x = b.width - width
		} else {
			b.x = 0
			b.feed()
		}
	}
	if b.x < 0 {
		return
	}
	for i := range width {
		b.put(b.x+i, cell{"", t.style})
	}
	b.cells[b.y][b.x].text = string(r)
	b.x += width
}

// put replaces one cell. The other half of a wide character disappears.
func (b *buffer) put(x int, c cell) {
	line := b.cells[b.y]
	if line[x].text == "" && x > 0 {
		line[x-1].text = " "
	} else if x+1 < b.width && line[x].text != "" && line[x+1].text == "" {
		line[x+1].text = " "
	}
	line[x] = c
}

// escape does a sequence.
func (t *Terminal) escape(input string) int {
	if len(input) < 2 {
		return 0
	}
	if input[1] != '[' {
		t.complain(input[:2])
		return 2
	}
	end := strings.IndexFunc(input[2:], func(r rune) bool { return r >= '@' && r <= '~' })
	if end < 0 {
		return 0
	}
	sequence := input[:2+end+1]
	if !t.control(input[2:2+end], input[2+end]) {
		t.complain(sequence)
	}
	return len(sequence)
}

// control does a sequence with these parameters and this end, if it is known.
func (t *Terminal) control(parameters string, end byte) bool {
	b := t.shown()
	switch {
	case end == 'm':
		t.style = strings.TrimPrefix(strings.TrimPrefix(parameters, "0"), ";")
	case end == 'H':
		row, column, _ := strings.Cut(parameters, ";")
		b.y, b.x = number(row, b.height), number(column, b.width)
	case end == 'G':
		b.x = number(parameters, b.width)
	case end == 'K' && parameters == "":
		for x := b.x; x < b.width; x++ {
			b.put(x, cell{" ", ""})
		}
	case end == 'J' && parameters == "2":
		x, y := b.x, b.y
		*b = *newBuffer(b.width, b.height)
		b.x, b.y = x, y
	case end == 'h' || end == 'l':
		return t.mode(parameters, end == 'h')
	default:
		return false
	}
	return true
}

// number reads a parameter, which counts from 1.
func number(text string, limit int) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		n = 1
	}
	return min(max(n-1, 0), limit-1)
}

// mode sets or ends a mode.
func (t *Terminal) mode(name string, on bool) bool {
	switch name {
	case "?1049":
		t.other = nil
		if on {
			t.other = newBuffer(t.main.width, t.main.height)
		}
	case "?25":
		t.hidden = !on
	case "?7":
		t.nowrap = !on
	default:
		return false
	}
	return true
}

// String returns the lines that are shown, without what is blank at their ends.
func (t *Terminal) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var b strings.Builder
	for _, line := range t.shown().cells {
		var text strings.Builder
		for _, c := range line {
			text.WriteString(c.text)
		}
		b.WriteString(strings.TrimRight(text.String(), " ") + "\n")
	}
	return b.String()
}

// Styles returns the same with the style of each cell, to be compared.
func (t *Terminal) Styles() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var b strings.Builder
	for _, line := range t.shown().cells {
		for _, c := range line {
			fmt.Fprintf(&b, "%s{%s}", c.text, c.style)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// A Mode is how the terminal is now.
type Mode struct {
	Other  bool // a screen of its own is shown
	Hidden bool // the cursor is
	Nowrap bool
	Style  string
}

// Mode returns it.
func (t *Terminal) Mode() Mode {
	t.mu.Lock()
	defer t.mu.Unlock()
	return Mode{t.other != nil, t.hidden, t.nowrap, t.style}
}

// Strange lists what the terminal was told and does not know.
func (t *Terminal) Strange() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.strange
}
