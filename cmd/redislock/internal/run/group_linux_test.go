package run

import (
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/internal/check"
)

// inside says that this process is the one that TestGroupOutlivesThreads has started.
const inside = "REDISLOCK_TEST_GROUP"

// Go never ends the first thread of a process. In that process the main goroutine keeps it, so that no other one is on it.
func init() {
	if os.Getenv(inside) != "" {
		runtime.LockOSThread()
	}
}

// The system kills the command when the thread ends that has started it. Whichever threads of the supervisor end, that one stays.
// A process of its own does it, because a supervisor ignores signals and waits for all children.
func TestGroupOutlivesThreads(t *testing.T) {
	if os.Getenv(inside) == "" {
		t.Parallel()
		for range 3 { // one of them may not find a defect
			cmd := exec.Command(os.Args[0], "-test.run=^TestGroupOutlivesThreads$")
			cmd.Env = append(os.Environ(), inside+"=1")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		}
		return
	}
	g, err := startGroup(&errand{path: "/bin/sleep", command: []string{"sleep", "600"}})
	check.NoError(t, err)
	for began := time.Now(); time.Since(began) < 50*time.Millisecond; {
		_ = os.Getpid() // another thread takes what startGroup has begun, so that this one has nothing to stay for
	}
	var begun, ended sync.WaitGroup
	end := make(chan struct{})
	for range 50 {
		begun.Add(1)
		ended.Go(func() {
			runtime.LockOSThread() // the thread ends with this goroutine
			begun.Done()
			<-end
		})
	}
	begun.Wait()
	close(end)
	ended.Wait()
	time.Sleep(50 * time.Millisecond) // the threads end a moment later; less time would hide a defect, and nothing else
	g.terminate()
	if e := <-g.events; e.Say != sayEnded || e.Signal != int(syscall.SIGTERM) {
		t.Errorf("the command has ended by %+v, want SIGTERM", e)
	}
}
