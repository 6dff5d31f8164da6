package matrix_test

import (
	flags "flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flags.Bool("update", false, "write the list of the cells of the matrix that fail without guards")

// listFile is the file that has it.
var listFile = filepath.Join("testdata", "matrix.txt")

const listHead = `# The cells of the matrix that fail without guards. A line is a request that comes late, and the way in
# which it was not answered: R: its operation sent it again, and that was answered; G: it gave up; C: its context ended.
# Behind it, by the moment at which the late request arrives, is what follows it: the operations after the first letter of a
# word are those that may come second, and a dot is nothing. The codes are explained in cell_test.go and operations_test.go.
# "make matrix UPDATE=1" writes this file.
`

// writeList is the list of cells in a form that is short, and the same every time.
func writeList(failed map[string][]string) string {
	var list strings.Builder
	list.WriteString(listHead)
	type line struct{ row, way string }
	words := make(map[line]map[string][]string) // by what follows: the moments
	var order []line
	for _, id := range bubbleCells() {
		at := line{id.row.name, string(id.way)}
		if words[at] == nil {
			words[at] = make(map[string][]string)
			order = append(order, at)
		}
		if failed[id.String()] != nil {
			words[at][string(id.arrives)] = append(words[at][string(id.arrives)], id.follows)
		}
	}
	harmless := make(map[string]string)
	for _, row := range bubbleRows() {
		harmless[row.name] = row.harmless
	}
	for _, at := range order {
		if why := harmless[at.row]; why != "" && len(words[at]) == 0 {
			if at.way == "R" {
				fmt.Fprintf(&list, "%s: none: %s\n", at.row, why)
			}
			continue
		}
		fmt.Fprintf(&list, "%s/%s", at.row, at.way)
		for arrives, same := range groupsOf(words[at]) {
			fmt.Fprintf(&list, " %s=%s", arrives, same)
		}
		list.WriteByte('\n')
	}
	return list.String()
}

// groupsOf puts moments together at which the same operations follow.
func groupsOf(words map[string][]string) func(yield func(arrives, words string) bool) {
	by := make(map[string]string)
	for _, each := range "opbmarn" {
		if follows := words[string(each)]; len(follows) > 0 {
			by[wordsOf(follows)] += string(each)
		}
	}
	return func(yield func(arrives, words string) bool) {
		var all []string
		for same := range by {
			all = append(all, same)
		}
		slices.SortFunc(all, func(a, b string) int { return strings.Compare(by[a], by[b]) })
		for _, same := range all {
			if !yield(by[same], same) {
				return
			}
		}
	}
}

// wordsOf are sequences as they stand in the list.
func wordsOf(follows []string) string {
	seconds := make(map[string]string)
	var firsts []string
	for _, each := range follows {
		first, second := each[:1], each[1:]
		if seconds[first] == "" {
			firsts = append(firsts, first)
		}
		if second == "" {
			second = "."
		}
		seconds[first] += second
	}
	for i, first := range firsts {
		firsts[i] = first + seconds[first]
	}
	return strings.Join(firsts, ",")
}

// readList are the names of the cells of a list.
func readList(text string) map[string]bool {
	cells := make(map[string]bool)
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") || strings.Contains(line, ": none: ") {
			continue
		}
		name, rest, _ := strings.Cut(strings.TrimSpace(line), "/")
		for i, group := range strings.Fields(rest) {
			arrives, words, ok := strings.Cut(group, "=")
			if !ok || i == 0 {
				name += "/" + group
				continue
			}
			for word := range strings.SplitSeq(words, ",") {
				for _, second := range word[1:] {
					for _, each := range arrives {
						cells[name+"/"+strings.TrimSuffix(word[:1]+string(second), ".")+"/"+string(each)] = true
					}
				}
			}
		}
	}
	return cells
}

// wantRowsToFail checks that of every row cells fail without guards, or that a reason is given why none does.
func wantRowsToFail(t *testing.T, rows []*row, failed map[string][]string) {
	t.Helper()
	for _, row := range rows {
		n := 0
		for name := range failed {
			if strings.HasPrefix(name, row.name+"/") {
				n++
			}
		}
		if n == 0 && row.harmless == "" {
			t.Errorf("%s: nothing fails without guards, and no reason is given", row.name)
		}
		if n > 0 && row.harmless != "" {
			t.Errorf("%s: %d cells fail without guards, and it is said to be harmless: %s", row.name, n, row.harmless)
		}
	}
}

// checkList compares what fails without guards with the list, and writes it anew if it is asked to.
func checkList(t *testing.T, failed map[string][]string) {
	t.Helper()
	wantRowsToFail(t, bubbleRows(), failed)

	got := writeList(failed)
	if *update {
		if err := os.WriteFile(listFile, []byte(got), 0o600); err != nil {
			t.Error(err)
		}
		return
	}
	want, err := os.ReadFile(listFile)
	if err != nil {
		t.Fatal(err)
	}
	if got == string(want) {
		return
	}
	t.Errorf("the cells that fail without guards are not those of %s: look at the change, then make matrix UPDATE=1", listFile)
	listed, shown := readList(string(want)), 0
	for _, id := range bubbleCells() {
		fails := failed[id.String()] != nil
		if fails != listed[id.String()] && shown < 20 {
			t.Errorf("%v: fails without guards: %t, want %t", id, fails, !fails)
			shown++
		}
	}
}

func TestMatrixListIsRead(t *testing.T) {
	failed := make(map[string][]string)
	for i, id := range bubbleCells() {
		if i%3 == 0 && id.row.harmless == "" {
			failed[id.String()] = []string{""}
		}
	}
	got := readList(writeList(failed))
	for name := range failed {
		if !got[name] {
			t.Fatalf("%s is not read", name)
		}
	}
	if len(got) != len(failed) {
		t.Errorf("got %d cells, want %d", len(got), len(failed))
	}
}
