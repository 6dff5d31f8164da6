package mutant

import (
	"os"
	"syscall"
	"unsafe"
)

// Notes are a file that the process, and all that it starts, have in their memory, so that nothing is lost however they end. It
// is a table: a row of bytes for each test, in it a byte for each place. Row 0 is for what no test is known to have reached.

var reached = mapped(os.Getenv(Notes))

func mapped(path string) []byte {
	if path == "" {
		return nil
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		panic("mutant: " + err.Error())
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		panic("mutant: " + err.Error())
	}
	table, err := syscall.Mmap(int(file.Fd()), 0, int(info.Size()), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		panic("mutant: " + err.Error())
	}
	return table
}

// Labels are what a goroutine hands on to those that it starts. Package runtime/pprof has a slice there, which is empty.
type labels struct {
	_    []struct{ key, value string }
	test int
}

//go:linkname setLabels runtime/pprof.runtime_setProfLabel
func setLabels(unsafe.Pointer)

//go:linkname getLabels runtime/pprof.runtime_getProfLabel
func getLabels() unsafe.Pointer

// Test says that the goroutine, and all that it starts, belong to a test, whose number is that of its row, until the function that
// it returns is called. A test that calls another one, such as an example, has all of that.
func Test(row int) (end func()) {
	if reached == nil || getLabels() != nil {
		return func() {}
	}
	setLabels(unsafe.Pointer(&labels{test: row}))
	return func() { setLabels(nil) }
}

func note(id int) {
	row := 0
	if l := (*labels)(getLabels()); l != nil {
		row = l.test
	}
	if at := row*Places + id; reached[at] == 0 {
		reached[at] = 1
	}
}

// Sent notes that a script is sent.
func Sent(name string) {
	if id, is := scripts[name]; is {
		On(id)
	}
}

// Later is a function that a timer will call: it belongs to the test that started the timer.
func Later(f func()) func() {
	if reached == nil {
		return f
	}
	of := getLabels()
	return func() {
		before := getLabels()
		defer setLabels(before)
		setLabels(of)
		f()
	}
}

// SentAs is the text of a script that is sent.
func SentAs(name, text string) string {
	Sent(name)
	return text
}
