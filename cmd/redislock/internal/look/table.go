package look

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cells"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/internal/count"
)

// The columns of the table.
const (
	keyColumn = iota
	modeColumn
	holderColumn
	sinceColumn
	ttlColumn
	waitingColumn
	fenceColumn
)

var heading = []string{"KEY", "MODE", "HOLDER", "SINCE", "TTL", "WAITING", "FENCE"}

const (
	gap = "  " // between two columns
	// leastText is what KEY and HOLDER have together before FENCE is left out.
	leastText = 48
	// leastKey is what KEY has, and HOLDER.
	leastKey = 8
	// mostPadded is how wide a column gets where nothing is cut: the metadata of one key may have kilobytes.
	mostPadded = 80
)

// write writes the list, as a table or as JSON. An empty table is nothing.
func (l *listing) write(to cli.Streams, conn *cli.Conn) error {
	if *l.json {
		return writeObjects(to.Out, l.states, conn.Prefix)
	}
	if len(l.states) == 0 {
		return nil
	}
	width := widthOf(to.Out)
	rows := make([][]string, 0, 1+len(l.states))
	rows = append(rows, heading)
	for _, s := range l.states {
		rows = append(rows, rowOf(s))
	}
	widths := layOut(rows, width)
	out := bufio.NewWriter(to.Out)
	for i, row := range rows {
		cli.Say(out, "%s\n", lineOf(row, widths, width > 0)) // Flush returns the error
		if i > 0 && l.long {
			for _, text := range details(l.states[i-1]) {
				if width > 0 {
					text = cells.Head(text, width-2)
				}
				cli.Say(out, "  %s\n", text)
			}
		}
	}
	if width > 0 { // for people; who counts the lines of a pipe counts keys
		waited := 0
		for _, s := range l.states {
			waited += min(len(s.Line), 1)
		}
		cli.Say(out, "\n%s, %s\n", count.Of(len(l.states), "key"), count.Either(waited, "is waited for", "are waited for"))
	}
	return out.Flush()
}

// widthOf returns how wide lines may be; 0 if they are not for a terminal.
func widthOf(w io.Writer) int {
	if !cli.IsTerminal(w) {
		return 0
	}
	columns, _ := cli.TerminalSize(w)
	return cmp.Or(columns, 80) // a terminal need not say it
}

// rowOf is what the table says of a key.
func rowOf(s redislock.KeyState) []string {
	row := []string{cli.Text(s.Key), string(s.Mode), holders(s), cli.Clock(since(s)), "-", strconv.Itoa(cli.Waiting(s)), "-"}
	if s.TTL > 0 {
		row[ttlColumn] = cli.Duration(s.TTL)
	}
	if n := cli.Gone(s); n > 0 {
		row[waitingColumn] += fmt.Sprintf(", %d gone", n)
	}
	if s.Fence > 0 {
		row[fenceColumn] = strconv.FormatInt(s.Fence, 10)
	}
	return row
}

// since returns since when a key is held, zero if that is not known: by the one who has held it longest.
func since(s redislock.KeyState) (at time.Time) {
	for _, h := range s.Holders {
		if !h.Since.IsZero() && (at.IsZero() || h.Since.Before(at)) {
			at = h.Since
		}
	}
	return at
}

// holders says who holds a key: the only one, or how many.
func holders(s redislock.KeyState) string {
	switch len(s.Holders) {
	case 0:
		if s.Mode == redislock.ModeForeign {
			return cli.Foreign(s)
		}
		return "-"
	case 1:
		h := s.Holders[0]
		if h.Metadata != "" {
			h.Caller = "" // which -l shows
		}
		text := cli.Somebody(h.Metadata, h.Caller, 0)
		if h.Left {
			text = "left: " + text
		}
		return text
	}
	return fmt.Sprintf("%d readers", len(s.Holders))
}

// details are a line for each reader, for an intent, and for each waiter.
func details(s redislock.KeyState) (lines []string) {
	if len(s.Holders) > 1 {
		for _, h := range s.Holders {
			lines = append(lines, "held by "+described(h))
		}
	}
	if s.Intent != nil {
		lines = append(lines, "intent of "+described(*s.Intent))
	}
	return append(lines, line(s)...)
}

// described says who somebody is, and for how long its lease lasts.
func described(h redislock.Holder) string {
	var extra []string
	if !h.Since.IsZero() {
		extra = append(extra, "since "+cli.Clock(h.Since))
	}
	if h.Left {
		extra = append(extra, "kept after its work")
	}
	extra = append(extra, cli.Duration(h.TTL)+" left")
	return cli.Somebody(h.Metadata, h.Caller, 0) + " (" + strings.Join(extra, ", ") + ")"
}

// line says of each waiter in line what it wants, and since when.
func line(s redislock.KeyState) (lines []string) {
	for i, w := range s.Line {
		gone := ""
		if !w.Alive {
			gone = ", gone"
		}
		who := cli.Somebody(w.Metadata, w.Caller, 0)
		lines = append(lines, fmt.Sprintf("%d. to %s: %s (since %s%s)", i+1, w.Mode, who, cli.Clock(w.Since), gone))
	}
	return lines
}

// layOut returns how wide each column is, so that lines have at most this width, if that can be. If it is 0 lines have no
// end, and a column is only as wide as a long text may be: one that is longer moves what stands behind it.
// A column without a width is left out.
func layOut(rows [][]string, width int) []int {
	widths := make([]int, len(heading))
	most := cmp.Or(width, mostPadded)
	for _, row := range rows {
		for i, text := range row {
			widths[i] = max(widths[i], min(most, cells.Width(text)))
		}
	}
	if width == 0 {
		return widths
	}
	rest := func() int {
		rest := width
		for i, w := range widths {
			if i != keyColumn && i != holderColumn {
				rest -= w
			}
			if i > 0 && w > 0 {
				rest -= len(gap)
			}
		}
		return rest
	}
	key, holder := widths[keyColumn], widths[holderColumn]
	if rest() < min(leastText, key+holder) {
		widths[fenceColumn] = 0
	}
	if room := max(rest(), 2*leastKey); key+holder > room {
		key = min(key, max(room/2, room-holder))
		widths[keyColumn], widths[holderColumn] = key, room-key
	}
	return widths
}

// lineOf makes a line of a row. Numbers stand to the right. With cut, texts lose what their columns have no room for.
func lineOf(row []string, widths []int, cut bool) string {
	var parts []string
	for i, text := range row {
		if widths[i] == 0 {
			continue
		}
		switch {
		case cells.Width(text) <= widths[i] || !cut:
		case i == keyColumn: // the ends of keys tell them apart
			text = cells.Short(text, widths[i])
		default:
			text = cells.Head(text, widths[i])
		}
		parts = append(parts, cells.Pad(text, widths[i], i >= ttlColumn))
	}
	return strings.TrimRight(strings.Join(parts, gap), " ")
}
