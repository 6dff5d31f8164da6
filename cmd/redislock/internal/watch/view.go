package watch

import (
	"slices"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/watch/term"
)

// A page is what the screen shows.
type page int

const (
	listPage page = iota
	keyPage
	helpPage
)

// A view is what the user has chosen to see. It changes by keys that are pressed, and by nothing else.
type view struct {
	width, height int
	page          page
	sort          int // of columns
	reverse       bool
	filter        string
	typing        bool // the filter
	paused        bool
	quit          bool

	selected string // the key on which the cursor is; empty: it is on the first
	top      int    // the first row that is shown
	scroll   int    // the first line that is shown of another page
	lines    int    // how many such lines there are, see draw
}

// press takes in a key. The rows are those of the list, as they are shown.
func (v *view) press(key term.Key, rows []row) {
	switch {
	case v.typing:
		v.edit(key)
	case key == "q":
		v.quit = true
	case key == "p" || key == " ":
		v.paused = !v.paused
	case v.page != listPage:
		v.read(key)
	case key == "?" || key == "h":
		v.page, v.scroll = helpPage, 0
	case key == "/":
		v.typing = true
	case key == term.Escape:
		v.filter = ""
	case key == term.Enter || key == term.Right:
		if i := v.index(rows); i < len(rows) {
			v.selected, v.page, v.scroll = rows[i].Key, keyPage, 0
		}
	case key == "s":
		v.sort = (v.sort + 1) % len(columns)
	case key == "r":
		v.reverse = !v.reverse
	case !v.sortBy(key):
		v.move(key, rows)
	}
	v.follow(rows)
}

// edit takes in a key of the filter.
func (v *view) edit(key term.Key) {
	text := []rune(v.filter)
	switch {
	case key == term.Enter:
		v.typing = false
	case key == term.Escape:
		v.typing, v.filter = false, ""
	case key == term.Erase:
		v.filter = ""
	case key == term.Backspace:
		v.filter = string(text[:max(0, len(text)-1)])
	case len([]rune(string(key))) == 1 && len(text) < 200:
		v.filter += string(key)
	}
}

// read takes in a key of another page than the list.
func (v *view) read(key term.Key) {
	switch key {
	case term.Escape, term.Left, term.Enter, "?", "h":
		v.page = listPage
	default:
		v.scroll = min(max(0, v.scroll+v.steps(key, v.lines)), max(0, v.lines-v.room()))
	}
}

// sortBy sorts by the column whose letter it is.
func (v *view) sortBy(key term.Key) bool {
	i := slices.IndexFunc(columns, func(c column) bool { return c.letter == string(key) })
	if i < 0 {
		return false
	}
	v.sort, v.reverse = i, false
	return true
}

// steps is how far a key moves in a list.
func (v *view) steps(key term.Key, length int) int {
	switch key {
	case term.Up, "k":
		return -1
	case term.Down, "j":
		return 1
	case term.PageUp:
		return -max(1, v.room()-1)
	case term.PageDown:
		return max(1, v.room()-1)
	case term.Home, "g":
		return -length
	case term.End, "G":
		return length
	}
	return 0
}

// move moves the cursor. At the first row it stays there, whichever key that is.
func (v *view) move(key term.Key, rows []row) {
	n := v.steps(key, len(rows))
	if n == 0 || len(rows) == 0 {
		return
	}
	i := min(max(v.index(rows)+n, 0), len(rows)-1)
	v.selected = rows[i].Key
	if i == 0 {
		v.selected = ""
	}
}

// index is where the cursor is.
func (v *view) index(rows []row) int { return max(0, find(rows, v.selected)) }

// find returns where a key is; -1: nowhere.
func find(rows []row, key string) int {
	return slices.IndexFunc(rows, func(r row) bool { return r.Key == key })
}

// follow scrolls so that the cursor is on the screen.
func (v *view) follow(rows []row) {
	i, room := v.index(rows), max(1, v.room())
	v.top = min(v.top, i)
	v.top = max(v.top, i-room+1)
	v.top = max(0, min(v.top, len(rows)-room))
}

// room is how many lines there are for rows, between the two lines at the top and the two at the bottom. Where there are only
// few lines those leave first.
func (v *view) room() int { return max(0, min(v.height, 1), v.height-4) }

// shown returns the rows that are on the screen.
func (v *view) shown(rows []row) []row {
	if v.page == keyPage {
		if i := find(rows, v.selected); i >= 0 {
			return rows[i : i+1]
		}
		return nil
	}
	top := min(v.top, len(rows))
	return rows[top:min(len(rows), top+v.room())]
}
