package shown

import (
	"fmt"
	"time"
)

const day = 24 * time.Hour

// units are those in which times are written, the longest first.
var units = []struct {
	of   time.Duration
	name string
}{
	{day, "d"}, {time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"},
	{time.Millisecond, "ms"}, {time.Microsecond, "µs"}, {time.Nanosecond, "ns"},
}

// Duration writes a time for people: 850ns, 4.2ms, 350ms, 4.2s, 59s, 1m05s, 3h20m, 4d05h, 120d. From a minute on it has two units,
// from a hundred days on one. Below a minute it has one unit, with a tenth if it is less than ten of them. So it has two or three
// digits that matter, at most six characters for less than 273 years, and keeps its form while it counts down through a unit.
//
// It is rounded towards zero, because it mostly says how much of a lease is left, which must not be overstated, or for how long
// something has lasted, which then is true as well. Only what is zero is "0s". A negative time has a sign.
//
// What somebody has set, such as a flag, is written as it is, by [time.Duration.String].
func Duration(d time.Duration) string {
	if d < 0 {
		return "-" + Duration(d.Abs())
	}
	for i, unit := range units {
		whole, rest := d/unit.of, d%unit.of
		switch {
		case whole == 0:
			continue
		case unit.of >= time.Minute && whole < 100:
			return fmt.Sprintf("%d%s%02d%s", whole, unit.name, rest/units[i+1].of, units[i+1].name)
		case unit.of <= time.Second && unit.of > time.Nanosecond && whole < 10:
			return fmt.Sprintf("%d.%d%s", whole, 10*rest/unit.of, unit.name)
		}
		return fmt.Sprintf("%d%s", whole, unit.name)
	}
	return "0s"
}
