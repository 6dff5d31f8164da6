package check

import (
	"os"
	"time"
)

// HammerTime is how long a test runs that finds more the longer it runs: ten seconds, and a minute in the gate, which
// sets CI=true.
func HammerTime() time.Duration {
	if os.Getenv("CI") == "true" {
		return time.Minute
	}
	return 10 * time.Second
}
