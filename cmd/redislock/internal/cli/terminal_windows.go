package cli

import "golang.org/x/sys/windows"

// enableEscapes fails on a console of Windows that is too old.
func enableEscapes(fd uintptr) bool {
	var mode uint32
	console := windows.Handle(fd)
	return windows.GetConsoleMode(console, &mode) == nil &&
		windows.SetConsoleMode(console, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}
