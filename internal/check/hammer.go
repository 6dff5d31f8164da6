package check

import "time"

// HammerTime is how long a test runs that finds more the longer it runs.
const HammerTime = 10 * time.Second
