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
	name    string // for --sort
	letter  string // the key that sorts by it
	title   string // empty: it is not shown, but can be sorted by
	width   int    // 0: it takes what is left
	right   bool   // it stands on the right
	leaves  int    // where there is no room, columns leave in this order; 0: never
	text    func(row) string
	compare func(a, b row) int
}

// columns are all of them, from the left. The first is what is sorted by if nothing else is said.
var columns = []column{
	{name: "urgency", letter: "S", compare: func(a, b row) int {
		return cmp.Or(cmp.Compare(b.level, a.level), cmp.Compare(b.longest, a.longest), cmp.Compare(b.waiting, a.waiting),
			cmp.Compare(b.gone, a.gone), cmp.Compare(b.rate, a.rate))
	}},
	{
		name: "key", letter: "K", title: "KEY", text: func(r row) string { return cli.Text(r.Key) },
		compare: func(a, b row) int { return cmp.Compare(a.Key, b.Key) },
	},
	{
		name: "mode", letter: "M", title: "MODE", width: 5, leaves: 4, text: modeText,
		compare: func(a, b row) int { return cmp.Compare(b.Mode, a.Mode) },
	},
	{
		name: "holder", letter: "O", title: "HOLDER", leaves: 6, text: func(r row) string { return cmp.Or(r.holder, "-") },
		compare: func(a, b row) int {
			return cmp.Or(cmp.Compare(min(1, len(b.holder)), min(1, len(a.holder))), cmp.Compare(a.holder, b.holder))
		},
	},
	{
		name: "held", letter: "H", title: "HELD", width: 6, right: true, leaves: 3, text: func(r row) string { return orDash(r.holder != "", r.heldText()) },
		compare: func(a, b row) int { return cmp.Compare(b.held, a.held) },
	},
	{
		name: "ttl", letter: "T", title: "TTL", width: 5, right: true, leaves: 2, text: ttlText,
		compare: func(a, b row) int { return cmp.Compare(uint64(b.TTL), uint64(a.TTL)) }, // none is more than any
	},
	{
		name: "waiting", letter: "W", title: "WAIT", width: 6, right: true, leaves: 7, text: waitText,
		compare: func(a, b row) int { return cmp.Or(cmp.Compare(b.waiting, a.waiting), cmp.Compare(b.gone, a.gone)) },
	},
	{
		name: "longest", letter: "L", title: "LONGEST", width: 7, right: true, leaves: 5, text: func(r row) string { return orDash(r.waiting > 0, cli.Duration(r.longest)) },
		compare: func(a, b row) int { return cmp.Compare(b.longest, a.longest) },
	},
	{
		name: "rate", letter: "N", title: "HANDED/S", width: 8, right: true, leaves: 1, text: rateText,
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

func columnNamed(name string) (int, bool) {
	i := slices.IndexFunc(columns, func(c column) bool { return c.name == name })
	return i, i >= 0
}

func columnNames() []string {
	var names []string
	for _, c := range columns {
		names = append(names, c.name)
	}
	return names
}

// order sorts rows by a column. Equal ones are in the order of their keys.
func order(rows []row, by int, reverse bool) {
	slices.SortFunc(rows, func(a, b row) int {
		n := columns[by].compare(a, b)
		if reverse {
			n = -n
		}
		return cmp.Or(n, cmp.Compare(a.Key, b.Key))
	})
}

// matching returns the rows whose key or holder contains a text, whatever its case.
func matching(rows []row, text string) []row {
	if text == "" {
		return rows
	}
	text = strings.ToLower(text)
	return slices.DeleteFunc(slices.Clone(rows), func(r row) bool {
		return !strings.Contains(strings.ToLower(r.Key+"\x00"+r.holder), text)
	})
}

const (
	leastText = 8 // columns of a column without a width
	mostKey   = 48
)

// titled are the columns that are shown. That of the mode is wider where a key is foreign.
func titled(rows []row) (fields []column) {
	for _, c := range columns {
		if c.name == "mode" && slices.ContainsFunc(rows, func(r row) bool { return r.Mode == redislock.ModeForeign }) {
			c.width = len(redislock.ModeForeign)
		}
		if c.title != "" {
			fields = append(fields, c)
		}
	}
	return fields
}

// fit chooses what there is room for, and gives it widths. One column is left for the level.
func fit(width int, rows []row) []column {
	fields := titled(rows)
	least := func() int {
		n := 1
		for _, f := range fields {
			n += 1 + cmp.Or(f.width, leastText)
		}
		return n
	}
	for leaves := 1; least() > width && len(fields) > 1; leaves++ {
		fields = slices.DeleteFunc(fields, func(f column) bool { return f.leaves == leaves })
	}
	share(fields, width, rows)
	return fields
}

// share gives what is left to the columns without a width: the key gets what the longest needs, but no more than half if there
// is a holder.
func share(fields []column, width int, rows []row) {
	left := width - 1
	for _, f := range fields {
		left -= 1 + f.width
	}
	longest := leastText
	for _, r := range rows {
		longest = max(longest, min(mostKey, cells.Width(cli.Text(r.Key))))
	}
	fields[0].width = max(left, 0) // the key, which never leaves
	if holder := slices.IndexFunc(fields, func(f column) bool { return f.name == "holder" }); holder > 0 {
		fields[0].width = min(longest, left/2)
		fields[holder].width = left - fields[0].width
	}
}
