package cli

import (
	"os"

	"golang.org/x/term"
)

// IsTerminal reports whether a file is a terminal. Of other devices, such as the null device, it is not.
func IsTerminal(file *os.File) bool {
	is := false
	control(file, func(fd uintptr) { is = term.IsTerminal(int(fd)) })
	return is
}

// TerminalSize returns the size of a terminal in characters. It is 0 × 0 if the file is no terminal, or if the terminal
// does not know.
func TerminalSize(file *os.File) (columns, rows int) {
	control(file, func(fd uintptr) { columns, rows, _ = term.GetSize(int(fd)) }) // with an error they are 0
	return columns, rows
}

// takesEscapes reports whether a file is a terminal that moves its cursor and changes its colours by escape sequences,
// and has it do so.
func takesEscapes(file *os.File) bool {
	takes := false
	control(file, func(fd uintptr) { takes = term.IsTerminal(int(fd)) && enableEscapes(fd) })
	return takes
}

// control calls fn with the descriptor of a file that is open. It leaves the file as it is, while Fd would make it a
// blocking one.
func control(file *os.File, fn func(fd uintptr)) {
	if file == nil {
		return
	}
	if conn, err := file.SyscallConn(); err == nil {
		_ = conn.Control(fn) // a closed file is no terminal
	}
}
