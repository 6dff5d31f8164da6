package watch

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cells"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
)

// A column is one of the table. What is urgent, great or early in the alphabet comes first.
type column struct {
	letter  string // the key that sorts by it
	title   string
	width   int  // that of its longest text, but of texts without a limit that of the title
	right   bool // it stands on the right
	text    func(row) string
	compare func(a, b row) int
}

// columns are all of them, from the left. The first is not shown: it is what is sorted by if nothing else is said.
var columns = []column{
	{letter: "S", compare: func(a, b row) int {
		return cmp.Or(cmp.Compare(b.level, a.level), cmp.Compare(b.longest, a.longest), cmp.Compare(b.waiting, a.waiting),
			cmp.Compare(b.gone, a.gone), cmp.Compare(b.rate, a.rate))
	}},
	{
		letter: "K", title: "KEY", width: 3, text: func(r row) string { return cli.Text(r.Key) },
		compare: func(a, b row) int { return cmp.Compare(a.Key, b.Key) },
	},
	{
		letter: "M", title: "MODE", width: 5, text: modeText,
		compare: func(a, b row) int { return cmp.Compare(b.Mode, a.Mode) },
	},
	{
		letter: "O", title: "HOLDER", width: 6, text: func(r row) string { return cmp.Or(r.holder, "-") },
		compare: func(a, b row) int {
			return cmp.Or(cmp.Compare(min(1, len(b.holder)), min(1, len(a.holder))), cmp.Compare(a.holder, b.holder))
		},
	},
	{
		letter: "H", title: "HELD", width: 6, right: true, text: func(r row) string { return orDash(r.holder != "", r.heldText()) },
		compare: func(a, b row) int { return cmp.Compare(b.held, a.held) },
	},
	{
		letter: "T", title: "TTL", width: 5, right: true, text: ttlText,
		compare: func(a, b row) int { return cmp.Compare(uint64(b.TTL), uint64(a.TTL)) }, // none is more than any
	},
	{
		letter: "W", title: "WAIT", width: 6, right: true, text: waitText,
		compare: func(a, b row) int { return cmp.Or(cmp.Compare(b.waiting, a.waiting), cmp.Compare(b.gone, a.gone)) },
	},
	{
		letter: "L", title: "LONGEST", width: 7, right: true,
		text:    func(r row) string { return orDash(r.waiting > 0, cli.Duration(r.longest)) },
		compare: func(a, b row) int { return cmp.Compare(b.longest, a.longest) },
	},
	{
		letter: "N", title: "HANDED/S", width: 8, right: true, text: rateText,
		compare: func(a, b row) int { return cmp.Compare(b.rate, a.rate) },
	},
}

func orDash(has bool, text string) string {
	if has {
		return text
	}
	return "-"
}

func modeText(r row) string {
	if !r.known() {
		return "?"
	}
	return string(r.Mode)
}

func ttlText(r row) string {
	switch {
	case r.TTL < 0:
		return "none"
	case !r.known() || r.Mode == redislock.ModeFree:
		return "-"
	}
	return cli.Duration(r.TTL)
}

// waitText is how many wait, and behind a plus how many more are gone; i is a writer that waits with an intent.
func waitText(r row) string {
	var b strings.Builder
	if r.waiting > 0 || r.gone > 0 {
		b.WriteString(strconv.Itoa(r.waiting))
	}
	if r.gone > 0 {
		fmt.Fprintf(&b, "+%d", r.gone)
	}
	if r.Intent != nil {
		b.WriteString("i")
	}
	return cmp.Or(b.String(), "-")
}

func rateText(r row) string {
	switch {
	case !r.hasRate || r.rate == 0:
		return "-"
	case r.rate < 9.95:
		return fmt.Sprintf(">%.1f", r.rate)
	}
	return fmt.Sprintf(">%.0f", r.rate)
}

// order sorts rows by a column. Equal ones are in the order of their keys.
func order(rows []row, by int) {
	slices.SortFunc(rows, func(a, b row) int { return cmp.Or(columns[by].compare(a, b), cmp.Compare(a.Key, b.Key)) })
}

const (
	leastText = 8  // columns of a screen that a key has, and a holder
	mostShown = 64 // columns that they have at most where there is room
)

// fit gives the columns that are shown their widths: a key, and a holder, have what the longest needs. On a screen of a width a key
// has no more than half of what the others leave, and a holder all the rest. That of the mode is wider where a key is foreign.
func fit(width int, rows []row) []column {
	fields := slices.Clone(columns[1:])
	key, mode, holder := &fields[0], &fields[1], &fields[2]
	for _, r := range rows {
		key.width = min(mostShown, max(key.width, cells.Width(key.text(r))))
		holder.width = min(mostShown, max(holder.width, cells.Width(holder.text(r))))
		if r.Mode == redislock.ModeForeign {
			mode.width = len(redislock.ModeForeign)
		}
	}
	if width == 0 {
		return fields
	}
	left := width - 1 - len(fields) + key.width + holder.width
	for _, f := range fields {
		left -= f.width
	}
	key.width = max(leastText, min(key.width, left/2))
	holder.width = max(leastText, left-key.width)
	return fields
}
