package watch

import "slices"

// A view is what the user has chosen to see. It changes by keys that are pressed, and by nothing else.
type view struct {
	width, height int
	sort          int // of columns
	help          bool
	paused        bool
	quit          bool

	selected string // the key on which the cursor is; empty: it is on the first
	top      int    // the first row that is shown
}

// press takes in a key, as term.NextKey names it. The rows are those of the list, as they are shown.
func (v *view) press(key string, rows []row) {
	switch {
	case key == "q":
		v.quit = true
	case key == "p" || key == " ":
		v.paused = !v.paused
	case v.help || key == "h" || key == "?":
		v.help = !v.help
	case !v.sortBy(key):
		v.move(key, rows)
	}
}

// sortBy sorts by the column whose letter it is.
func (v *view) sortBy(key string) bool {
	i := slices.IndexFunc(columns, func(c column) bool { return c.letter == key })
	if i >= 0 {
		v.sort = i
	}
	return i >= 0
}

// move moves the cursor. At the first row it stays there, whichever key that is.
func (v *view) move(key string, rows []row) {
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

// steps is how far a key moves in a list. Terminals have several sequences for some of them.
func (v *view) steps(key string, length int) int {
	page := max(1, v.room()-1)
	switch key {
	case "[A", "OA", "k": // up
		return -1
	case "[B", "OB", "j": // down
		return 1
	case "[5~": // page up
		return -page
	case "[6~": // page down
		return page
	case "[H", "OH", "[1~", "[7~", "g": // home
		return -length
	case "[F", "OF", "[4~", "[8~", "G": // end
		return length
	}
	return 0
}

// index is where the cursor is.
func (v *view) index(rows []row) int {
	return max(0, slices.IndexFunc(rows, func(r row) bool { return r.Key == v.selected }))
}

// follow scrolls so that the cursor is on the screen.
func (v *view) follow(rows []row) {
	i, room := v.index(rows), max(1, v.room())
	v.top = max(min(v.top, i), i-room+1)
	v.top = max(0, min(v.top, len(rows)-room))
}

// room is how many lines there are for rows, between the two lines at the top and the two at the bottom. Where there are only
// few lines those leave first.
func (v *view) room() int { return max(0, min(v.height, 1), v.height-4) }

// shown returns the rows that are on the screen.
func (v *view) shown(rows []row) []row {
	top := min(v.top, len(rows))
	return rows[top:min(len(rows), top+v.room())]
}
