package locktest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-14de3678/redislock/internal/check"
)

// The Examples have no output, because they are tests. Here they run as such. Not parallel: they share a variable.
func TestExamples(outer *testing.T) {
	for name, example := range map[string]func(){
		"ExampleNew":             ExampleNew,
		"ExampleServer_Redis":    ExampleServer_Redis,
		"ExampleServer_HoldRead": ExampleServer_HoldRead,
		"ExampleServer_Hold":     ExampleServer_Hold,
		"ExampleServer_Break":    ExampleServer_Break,
		"ExampleServer_Drop":     ExampleServer_Drop,
		"ExampleFault_Times":     ExampleFault_Times,
		"ExampleServer_Delay":    ExampleServer_Delay,
		"ExampleServer_Cut":      ExampleServer_Cut,
		"ExampleWithoutCheck":    ExampleWithoutCheck,
	} {
		outer.Run(name, func(test *testing.T) {
			inBubble(test, func(test *testing.T) { //nolint:thelper // t is that of the Examples
				t = test
				over := make(chan struct{})
				go func() {
					defer close(over)
					example()
				}()
				// One that waits for what never comes would renew its lock for ever. The end of its context ends it.
				if _, ok := check.Receive(over, time.Minute); !ok {
					test.Error("it goes on and on")
				}
				synctest.Wait()
			})
		})
	}
}
