package run

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"time"
)

// zombies finds out whether all that is left of a group are processes that have ended, for which a parent outside of the
// group does not wait. They do nothing any more, and no signal removes them.
type zombies struct {
	next time.Time // when to look again
	seen int       // how many times in a row nothing else was seen
}

// zombiePause is between two looks. There are two, because processes come while one goes through the list.
const zombiePause = 200 * time.Millisecond

// someLive reports whether a group that has processes has some that have not ended. If that cannot be seen it has.
func (z *zombies) someLive(group int) bool {
	if now := time.Now(); now.After(z.next) {
		z.next = now.Add(zombiePause)
		z.seen++
		if !onlyZombies(group) {
			z.seen = 0
		}
	}
	return z.seen < 2
}

// onlyZombies looks at all processes.
func onlyZombies(group int) bool {
	if _, err := os.ReadFile("/proc/1/stat"); err != nil {
		return false // not all of them are shown, or none
	}
	all, err := os.ReadDir("/proc")
	return err == nil && !slices.ContainsFunc(all, func(process os.DirEntry) bool { return livesIn(process.Name(), group) })
}

// livesIn reports whether a process is of a group and has not ended, or some of its threads have not.
func livesIn(process string, group int) bool {
	stat, err := os.ReadFile("/proc/" + process + "/stat")
	if err != nil {
		return false // it has gone, or is no process
	}
	const state, groupID, threads = 0, 2, 17 // behind the name, which may have spaces and brackets
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) <= threads || string(fields[groupID]) != strconv.Itoa(group) {
		return false
	}
	n, _ := strconv.Atoi(string(fields[threads]))
	return n > 1 || !bytes.ContainsAny(fields[state], "ZX")
}
