package locktest_test

import (
	"testing"
	"testing/synctest"
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
				example()
				synctest.Wait()
			})
		})
	}
}
