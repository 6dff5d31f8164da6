//go:build ignore

// Preloaded into a server, this gives it a wall clock that another process sets, and
// a disk that is as slow as that one says. The file that REDISTEST_CLOCK names is mapped into both: see struct control.
//
// Nothing in here allocates memory or looks up a symbol. An allocator may ask for
// the time before it works itself, and dlsym allocates: what wraps the functions
// of libc by way of dlsym hangs in a server that brings its own allocator. So the
// true time comes from the kernel.
//
// The build constraint is for the go command, which refuses C files in a package
// without cgo.

#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000000LL

// With 32 bits the kernel's timespec need not be the one of libc.
_Static_assert(sizeof(time_t) == 8 && sizeof(long) == 8, "needs a 64-bit system");

// control is what the file holds. Its twin is in clock_linux.go.
struct control {
	int64_t offset; // written by the other side: nanoseconds ahead of the true time
	int64_t reader; // written here, once: the id of the process that obeys
	int64_t sync;   // written by the other side: nanoseconds by which the disk is late
};

// What holds until the file is mapped, and for ever if it cannot be: the true time.
static struct control none;
static struct control *control = &none;

// Runs before main, when there is but one thread. A process that was forked
// without exec has the mapping from its parent.
__attribute__((constructor)) static void map_control(void)
{
	const char *path = getenv("REDISTEST_CLOCK");
	if (path == NULL)
		return;
	int fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return;
	void *mem = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (mem == MAP_FAILED)
		return;
	control = mem;
	__atomic_store_n(&control->reader, (int64_t)getpid(), __ATOMIC_SEQ_CST);
}

// read_clock is the one way to the time. Seconds and nanoseconds are shifted apart,
// because their sum has less room than either.
static int read_clock(clockid_t id, struct timespec *ts)
{
	if (syscall(SYS_clock_gettime, id, ts) != 0)
		return -1;
	if (id != CLOCK_REALTIME && id != CLOCK_REALTIME_COARSE)
		return 0;
	int64_t offset = __atomic_load_n(&control->offset, __ATOMIC_SEQ_CST);
	ts->tv_sec += offset / SECOND;
	ts->tv_nsec += offset % SECOND;
	if (ts->tv_nsec < 0) {
		ts->tv_nsec += SECOND;
		ts->tv_sec--;
	} else if (ts->tv_nsec >= SECOND) {
		ts->tv_nsec -= SECOND;
		ts->tv_sec++;
	}
	return 0;
}

// wait_for_disk is what a slow disk adds to an fsync.
static void wait_for_disk(void)
{
	int64_t late = __atomic_load_n(&control->sync, __ATOMIC_SEQ_CST);
	struct timespec rest = {.tv_sec = late / SECOND, .tv_nsec = late % SECOND};
	while (late > 0 && syscall(SYS_nanosleep, &rest, &rest) != 0)
		; // a signal has come meanwhile
}

int fsync(int fd)
{
	wait_for_disk();
	return syscall(SYS_fsync, fd);
}

int fdatasync(int fd)
{
	wait_for_disk();
	return syscall(SYS_fdatasync, fd);
}

int clock_gettime(clockid_t id, struct timespec *ts)
{
	return read_clock(id, ts);
}

int gettimeofday(struct timeval *restrict tv, void *restrict tz)
{
	struct timespec now;
	if (read_clock(CLOCK_REALTIME, &now) != 0)
		return -1;
	tv->tv_sec = now.tv_sec;
	tv->tv_usec = now.tv_nsec / 1000;
	if (tz != NULL)
		*(struct timezone *)tz = (struct timezone){0};
	return 0;
}

time_t time(time_t *t)
{
	struct timespec now;
	if (read_clock(CLOCK_REALTIME, &now) != 0)
		return (time_t)-1;
	if (t != NULL)
		*t = now.tv_sec;
	return now.tv_sec;
}
