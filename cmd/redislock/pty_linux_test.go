package main

import (
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/term"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cells"
	"github.com/seed-14de3678/redislock/internal/check"
)

// What a terminal is told for a screen of its own, and for the one that it had.
const (
	otherScreen = "\x1b[?1049h\x1b[?25l\x1b[?7l"
	mainScreen  = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l"
)

// What stands before and behind each frame.
const (
	frameBegins = "\x1b[?2026h\x1b[H"
	frameEnds   = "\x1b[?2026l"
)

var (
	unseen  = regexp.MustCompile(`\x1b\[[0-9;]*[mK]`)
	columns = regexp.MustCompile(`(?m)^(.*?)\x1b\[(\d+)G`)
)

// isOther reports whether a screen of its own is shown.
func (y *tty) isOther() bool {
	screen := y.screen.String()
	return strings.LastIndex(screen, otherScreen) > strings.LastIndex(screen, mainScreen)
}

// frames returns the frames that were shown since the terminal was told to show a screen of its own, as they were sent.
func (y *tty) frames() (list []string) {
	screen := y.screen.String()
	for part := range strings.SplitSeq(screen[max(0, strings.LastIndex(screen, otherScreen)):], frameBegins) {
		if frame, _, whole := strings.Cut(part, frameEnds); whole {
			list = append(list, frame)
		}
	}
	return list
}

// text returns the lines that are shown: those of the last frame, or those of the main screen.
func (y *tty) text() string {
	if !y.isOther() {
		screen := y.screen.String()
		return screen[max(0, strings.LastIndex(screen, mainScreen)):]
	}
	list := y.frames()
	if len(list) == 0 {
		return ""
	}
	frame := unseen.ReplaceAllString(list[len(list)-1], "")
	var b strings.Builder
	for line := range strings.SplitSeq(frame, "\r\n") {
		for columns.MatchString(line) {
			line = columns.ReplaceAllStringFunc(line, func(part string) string {
				m := columns.FindStringSubmatch(part)
				return cells.Fit(m[1], check.Must[int](y.t)(strconv.Atoi(m[2]))-1, false)
			})
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

// modes returns the modes of the terminal.
func (y *tty) modes() *term.State {
	y.t.Helper()
	return check.Must[*term.State](y.t)(term.GetState(int(y.slave.Fd())))
}

// await waits until the screen is as it should be.
func (y *tty) await(what string, state func(screen string) bool) {
	y.t.Helper()
	defer func() {
		if y.t.Failed() {
			y.t.Logf("the screen is\n%s", y.text())
		}
	}()
	check.Eventually(y.t, soon, what, func() bool { return state(y.text()) })
}

// awaitText waits for texts that are all on the screen.
func (y *tty) awaitText(texts ...string) {
	y.t.Helper()
	y.await("the screen has "+strings.Join(texts, " and "), func(screen string) bool {
		for _, text := range texts {
			if !strings.Contains(screen, text) {
				return false
			}
		}
		return true
	})
}

// lineWith returns the first line of the screen that has a text, and its number.
func (y *tty) lineWith(text string) (line string, n int) {
	for n, line := range strings.Split(y.text(), "\n") {
		if strings.Contains(line, text) {
			return line, n
		}
	}
	return "", -1
}

// isRestored ends the test if the terminal is not as it was before.
func (y *tty) isRestored(before *term.State) {
	y.t.Helper()
	y.await("the terminal is as before", func(string) bool { return !y.isOther() })
	if after := y.modes(); !reflect.DeepEqual(before, after) {
		y.t.Errorf("the modes of the terminal were\n%+v and are\n%+v", before, after)
	}
}
