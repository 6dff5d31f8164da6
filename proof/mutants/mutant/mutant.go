// Package mutant is what the runner puts into a library whose sources it has wrapped: each of its functions stands around a place
// at which something may be defective. It decides there, by what the environment of the process says, whether the place does what
// is written in it; and it notes which places a test reaches.
//
// The runner adds the package as internal/mutant of the module, by an overlay. It imports little, because every package may
// import it.
package mutant

import (
	"cmp"
	"context"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
)

// The variables of the environment that the runner sets.
const (
	Planted = "MUTANT"       // the numbers of the defects, with commas
	Lua     = "MUTANT_LUA"   // lines such as path=file: the script at that path of the tree is read from the file
	Notes   = "MUTANT_NOTES" // the file in which places that are reached are noted
)

var planted = numbers(os.Getenv(Planted))

// numbers returns a table in which those of a list are true.
func numbers(list string) (table []bool) {
	for text := range strings.SplitSeq(list, ",") {
		if n, err := strconv.Atoi(text); err == nil {
			table = append(table, make([]bool, max(0, n+1-len(table)))...)
			table[n] = true
		}
	}
	return table
}

func isPlanted(id int) bool { return id < len(planted) && planted[id] }

// On reports whether a defect is planted, and notes that its place is reached.
func On(id int) bool {
	if reached != nil && reached[id] == 0 {
		reached[id] = 1
	}
	return isPlanted(id)
}

// Keeps reports whether a statement is still there.
func Keeps(id int) bool { return !On(id) }

// Cond is a condition: defect id negates it, and with the next one it never holds.
func Cond[B ~bool](id int, b B) B {
	switch {
	case On(id):
		return !b
	case isPlanted(id + 1):
		return false
	}
	return b
}

// Negate is a condition, or a part of one, that the defect negates.
func Negate[B ~bool](id int, b B) B { return b != B(On(id)) }

// A Real is a number that can be compared.
type Real interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr | ~float32 | ~float64
}

// Number is a constant: defect id makes it one more, the next ones one less, twice and half of it.
func Number[T Real](id int, v T) T {
	switch {
	case On(id):
		return v + 1
	case isPlanted(id + 1):
		return v - 1
	case isPlanted(id + 2):
		return v * 2
	case isPlanted(id + 3):
		return v / 2
	}
	return v
}

// Drop is a value that is left out: the defect makes it the zero value.
func Drop[T any](id int, v T) T {
	if On(id) {
		var zero T
		return zero
	}
	return v
}

// Context is a context that the defect does not pass on: in its place is one that never ends.
func Context(id int, ctx context.Context) context.Context { //nolint:revive // the number comes first everywhere
	if On(id) {
		return context.Background()
	}
	return ctx
}

// swap returns two operands, in the wrong order if the defect is planted.
func swap[T any](id int, a, b T) (T, T) {
	if On(id) {
		return b, a
	}
	return a, b
}

// Sub is a - b.
func Sub[T Real](id int, a, b T) T {
	a, b = swap(id, a, b)
	return a - b
}

// Quo is a / b.
func Quo[T Real](id int, a, b T) T {
	a, b = swap(id, a, b)
	return a / b
}

// Rem is a % b.
func Rem[T ~int | ~int64 | ~uint | ~uint16 | ~uint32 | ~uint64](id int, a, b T) T {
	a, b = swap(id, a, b)
	return a % b
}

// Cat is a + b of texts.
func Cat[T ~string](id int, a, b T) T {
	a, b = swap(id, a, b)
	return a + b
}

// Less is a < b.
func Less[T cmp.Ordered](id int, a, b T) bool {
	a, b = swap(id, a, b)
	return a < b
}

// LessEq is a <= b.
func LessEq[T cmp.Ordered](id int, a, b T) bool {
	a, b = swap(id, a, b)
	return a <= b
}

// Greater is a > b.
func Greater[T cmp.Ordered](id int, a, b T) bool { return Less(id, b, a) }

// GreaterEq is a >= b.
func GreaterEq[T cmp.Ordered](id int, a, b T) bool { return LessEq(id, b, a) }

// Script is the text of a script at a path of the tree.
func Script(id int, path, text string) string {
	On(id)
	return scriptAt(path, text)
}

// Files are the scripts in a folder of the tree.
func Files(id int, dir string, of fs.FS) Folder {
	On(id)
	return Folder{of, dir}
}

// A Folder has scripts.
type Folder struct {
	fs.FS
	dir string
}

// ReadFile reads a script.
func (f Folder) ReadFile(name string) ([]byte, error) {
	text, err := fs.ReadFile(f.FS, name)
	return []byte(scriptAt(path.Join(f.dir, name), string(text))), err
}

// scriptAt is the script at a path of the tree, whose text is this one unless the runner says another one.
func scriptAt(path, text string) string {
	for line := range strings.SplitSeq(os.Getenv(Lua), "\n") {
		of, file, _ := strings.Cut(line, "=")
		if of != path {
			continue
		}
		changed, err := os.ReadFile(file)
		if err != nil {
			panic("mutant: " + err.Error())
		}
		return string(changed)
	}
	return text
}

// Sent notes that a script is sent.
func Sent(name string) {
	if id, is := scripts[name]; is {
		On(id)
	}
}

// SentAs is the text of a script that is sent.
func SentAs(name, text string) string {
	Sent(name)
	return text
}
