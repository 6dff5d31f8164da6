package look

import (
	"strings"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cells"
)

func lock(key, metadata string, fence int64, waiters int) redislock.KeyState {
	s := redislock.KeyState{
		Key: key, Mode: redislock.ModeWrite, TTL: 29 * time.Second, Fence: fence,
		Holders: []redislock.Holder{{Metadata: metadata, TTL: 29 * time.Second, Since: time.Now()}},
	}
	for range waiters {
		s.Line = append(s.Line, redislock.Waiter{Mode: redislock.ModeWrite, Metadata: metadata, Since: time.Now(), Alive: true})
	}
	return s
}

const instance = "host=web-3 pid=812 prog=shop since=2026-03-01T09:26:53Z"

// tableOf lays a table out as ls does.
func tableOf(width int, states ...redislock.KeyState) (lines []string) {
	rows := [][]string{heading}
	for _, s := range states {
		rows = append(rows, rowOf(s))
	}
	widths := layOut(rows, width)
	for _, row := range rows {
		lines = append(lines, lineOf(row, widths, width > 0))
	}
	return lines
}

func TestTableFits(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("orders:with:a:long:name:", 9) + "17"
	for _, states := range [][]redislock.KeyState{
		{lock("orders:17", instance, 0, 0)},
		{lock("orders:17", instance, 1764003000000000, 12), lock("x", "", 0, 0)},
		{lock(long, instance, 1764003000000000, 100_000)},
		{lock("\x1b[31m"+long, strings.Repeat("m", 4096), 0, 0)},
		{lock(strings.Repeat("鍵", 60), strings.Repeat("é", 60), 0, 0), lock("orders:17", instance, 0, 0)},
	} {
		for _, width := range []int{60, 80, 100, 160} {
			lines := tableOf(width, states...)
			for _, line := range lines {
				if n := cells.Width(line); n > width {
					t.Errorf("%d columns of %d:\n%s", n, width, line)
				}
			}
			if !strings.HasPrefix(lines[0], "KEY ") || !strings.Contains(lines[0], " HOLDER ") || !strings.Contains(lines[0], " WAITING") {
				t.Errorf("%d columns:\n%s", width, lines[0])
			}
		}
		if lines := strings.Join(tableOf(0, states...), "\n"); strings.Contains(lines, "…") || !strings.Contains(lines, "FENCE") {
			t.Errorf("what is for no terminal is cut:\n%s", lines)
		}
	}
	if lines := tableOf(80, lock("orders:17", "web-3", 1764003000000000, 0)); !strings.HasSuffix(lines[1], " 1764003000000000") {
		t.Errorf("there is room for the fencing number:\n%s", strings.Join(lines, "\n"))
	}
}

// Where nothing is cut, one text that has kilobytes does not fill the lines of all others with spaces.
func TestTableInPipe(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("m", 4096)
	lines := tableOf(0, lock("orders:17", instance, 0, 0), lock(long+"k", long, 17, 0), lock("x", "web-3", 0, 0))
	for _, line := range []string{lines[0], lines[1], lines[3]} {
		if n := cells.Width(line); n > 4*mostPadded {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if !strings.Contains(lines[2], long+"k  write  "+long+"  ") {
		t.Error("a long text is cut")
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	s := lock("k", "", 0, 2)
	s.Line[1].Alive, s.Intent = false, &redislock.Holder{Caller: "job-7"}
	if got := rowOf(s)[waitingColumn]; got != "2, 1 gone" {
		t.Errorf("waiting is %q", got)
	}
	if got := details(s)[0]; got != "intent of caller=job-7 (0s left)" {
		t.Errorf("got %q", got)
	}
}
