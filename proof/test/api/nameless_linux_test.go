package api_test

import (
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

const notPermitted = "not permitted: "

func init() {
	// nameless prints what is said of a process on a host without a name, which it makes for itself.
	redistest.RegisterRole("nameless", func([]string) {
		runtime.LockOSThread() // of this thread alone
		err := syscall.Unshare(syscall.CLONE_NEWUTS)
		if err == nil {
			err = syscall.Sethostname(nil)
		}
		if err != nil {
			fmt.Println(notPermitted, err)
			return
		}
		fmt.Println(redislock.InstanceMetadata())
	})
}

// InstanceMetadata says so if the host has no name.
func TestInstanceMetadataOfANamelessHost(t *testing.T) {
	t.Parallel()
	got := check.Must[string](t)(redistest.StartRole(t, "nameless").ReadLine(time.Minute))
	if strings.HasPrefix(got, notPermitted) {
		t.Skip(got)
	}
	if !strings.HasPrefix(got, "host=unknown pid=") {
		t.Errorf("got %s, want the host to be unknown", got)
	}
}
