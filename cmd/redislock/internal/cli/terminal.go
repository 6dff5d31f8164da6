package cli

import (
	"os"

	"golang.org/x/term"
)

// IsTerminal reports whether a stream is a file that is a terminal. Of other devices, such as the null device, it is not.
func IsTerminal(stream any) bool {
	is := false
	control(stream, func(fd uintptr) { is = term.IsTerminal(int(fd)) })
	return is
}

// TerminalSize returns the size of a terminal in characters. It is 0 × 0 if the stream is none, or if the terminal
// does not know.
func TerminalSize(stream any) (columns, rows int) {
	control(stream, func(fd uintptr) { columns, rows, _ = term.GetSize(int(fd)) }) // with an error they are 0
	return columns, rows
}

// takesEscapes reports whether a stream is a terminal that moves its cursor and changes its colours by escape sequences,
// and has it do so.
func takesEscapes(stream any) bool {
	takes := false
	control(stream, func(fd uintptr) { takes = term.IsTerminal(int(fd)) && enableEscapes(fd) })
	return takes
}

// control calls fn with the descriptor of a stream that is an open file. It leaves the file as it is, while Fd would make it a
// blocking one.
func control(stream any, fn func(fd uintptr)) {
	file, ok := stream.(*os.File)
	if !ok || file == nil {
		return
	}
	if conn, err := file.SyscallConn(); err == nil {
		_ = conn.Control(fn) // a closed file is no terminal
	}
}
