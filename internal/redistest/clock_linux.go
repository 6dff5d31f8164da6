package redistest

import (
	"os"
	"sync/atomic"
	"syscall"
	"unsafe"
)

// clockControl is a file in the memory of this process and of the server's. It is
// mapped, not written to, because a server must never read half an offset. Its
// twin is in skew.c.
type clockControl struct {
	offset atomic.Int64 // written here: nanoseconds ahead of the true time
	reader atomic.Int64 // written by the server: its process id
	sync   atomic.Int64 // written here: nanoseconds by which the disk is late
}

const clockControlSize = int(unsafe.Sizeof(clockControl{}))

// mapControl makes the file, which must not be there yet.
func mapControl(path string) (*clockControl, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // the mapping does not need it
	if err := f.Truncate(int64(clockControlSize)); err != nil {
		return nil, err
	}
	mem, err := syscall.Mmap(int(f.Fd()), 0, clockControlSize, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil, os.NewSyscallError("mmap", err)
	}
	return (*clockControl)(unsafe.Pointer(unsafe.SliceData(mem))), nil
}

// unmap ends the life of c: reading it after that is a crash.
func (c *clockControl) unmap() error {
	mem := unsafe.Slice((*byte)(unsafe.Pointer(c)), clockControlSize)
	return os.NewSyscallError("munmap", syscall.Munmap(mem))
}
