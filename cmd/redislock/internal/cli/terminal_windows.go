package cli

import (
	"syscall"
	"unsafe"
)

var (
	kernel32                   = syscall.NewLazyDLL("kernel32.dll")
	setConsoleMode             = kernel32.NewProc("SetConsoleMode")
	getConsoleScreenBufferInfo = kernel32.NewProc("GetConsoleScreenBufferInfo")
)

// escapeMode has a console take escape sequences (ENABLE_VIRTUAL_TERMINAL_PROCESSING).
const escapeMode = 4

func isTerminal(fd uintptr) bool {
	var mode uint32
	return syscall.GetConsoleMode(syscall.Handle(fd), &mode) == nil
}

func terminalSize(fd uintptr) (columns, rows int) {
	// CONSOLE_SCREEN_BUFFER_INFO: of the whole buffer the window is what is seen.
	var info struct {
		size, cursor             [2]int16
		attributes               uint16
		left, top, right, bottom int16
		most                     [2]int16
	}
	if ok, _, _ := getConsoleScreenBufferInfo.Call(fd, uintptr(unsafe.Pointer(&info))); ok == 0 {
		return 0, 0
	}
	return int(info.right-info.left) + 1, int(info.bottom-info.top) + 1
}

// enableEscapes fails on a console of Windows that is too old.
func enableEscapes(fd uintptr) bool {
	var mode uint32
	if syscall.GetConsoleMode(syscall.Handle(fd), &mode) != nil {
		return false
	}
	ok, _, _ := setConsoleMode.Call(fd, uintptr(mode|escapeMode))
	return ok != 0
}
