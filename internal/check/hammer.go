package check

import (
	"os"
	"time"
)

// HammerTime is for how long a test goes on that finds the more, the longer it
// does: ten seconds, and a minute in the gate, which sets CI=true.
func HammerTime() time.Duration {
	if os.Getenv("CI") == "true" {
		return time.Minute
	}
	return 10 * time.Second
}
