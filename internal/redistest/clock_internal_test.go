//go:build proof

package redistest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// clocksProgram prints what each clock shows, in nanoseconds.
const clocksProgram = `
#include <stdio.h>
#include <sys/time.h>
#include <time.h>

static void show(const char *name, long sec, long nsec)
{
	printf("%s=%ldns\n", name, sec * 1000000000L + nsec);
}

static void show_clock(const char *name, clockid_t id)
{
	struct timespec ts;
	clock_gettime(id, &ts);
	show(name, ts.tv_sec, ts.tv_nsec);
}

int main(void)
{
	struct timeval tv;
	gettimeofday(&tv, NULL);
	show_clock("realtime", CLOCK_REALTIME);
	show_clock("coarse", CLOCK_REALTIME_COARSE);
	show("gettimeofday", tv.tv_sec, tv.tv_usec * 1000);
	show("time", time(NULL), 0);
	show_clock("monotonic", CLOCK_MONOTONIC);
	show_clock("boottime", CLOCK_BOOTTIME);
	return 0;
}
`

// readClocks runs the program in dir by the clock c.
func readClocks(t *testing.T, c *Clock, dir string) map[string]time.Duration {
	t.Helper()
	cmd := exec.Command(filepath.Join(dir, "clocks"))
	c.apply(cmd, dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := c.obeyedBy(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	clocks := map[string]time.Duration{}
	for line := range strings.Lines(string(out)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		if clocks[name], err = time.ParseDuration(value); err != nil {
			t.Fatal(err)
		}
	}
	return clocks
}

// A server uses some of these clocks only, and another version may use others.
func TestClockOfProgram(t *testing.T) {
	t.Parallel()
	needClock(t)
	// What the loader would take for two libraries.
	dir := filepath.Join(t.TempDir(), "a b:c")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	cc, err := compiler()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(cc, "-D_GNU_SOURCE", "-x", "c", "-o", filepath.Join(dir, "clocks"), "-")
	cmd.Stdin = strings.NewReader(clocksProgram)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	clock := &Clock{}
	if err := clock.install(dir); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := clock.remove(); err != nil {
			t.Error(err)
		}
	}()

	before := readClocks(t, clock, dir)
	for _, shift := range []time.Duration{time.Hour, -time.Hour} {
		clock.Shift(shift)
		for name, now := range readClocks(t, clock, dir) {
			want := shift
			if name == "monotonic" || name == "boottime" {
				want = 0
			}
			// time has seconds, and the test may take a minute.
			if got := now - before[name]; got < want-time.Second || got > want+time.Minute {
				t.Errorf("shifted by %v: %s went on by %v, want %v", shift, name, got, want)
			}
		}
	}
	if err := clock.obeyedBy(os.Getpid()); err == nil {
		t.Error("a process without the library passes for one with it")
	}
}
