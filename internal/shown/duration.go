package shown

import (
	"fmt"
	"time"
)

const day = 24 * time.Hour

// units are the units of times, the longest first.
var units = []struct {
	of   time.Duration
	name string
}{
	{day, "d"},
	{time.Hour, "h"},
	{time.Minute, "m"},
	{time.Second, "s"},
	{time.Millisecond, "ms"},
	{time.Microsecond, "µs"},
	{time.Nanosecond, "ns"},
}

// Duration writes a time for people: 850ns, 4.2ms, 350ms, 4.2s, 59s, 9m05s, 12m, 3h20m, 4d05h, 120d. If the number of
// the greatest unit has one digit, the next one follows: a tenth, or from a minute on the next unit. So there are two
// or three digits, in at most five characters up to 27 years. The form stays the same while a time runs down through a
// unit.
//
// It is rounded towards zero. It mostly says how much of a lease is left, which must not be overstated, or how long
// something has lasted, which then is true as well. Only zero is "0s". A negative time has a sign.
//
// A time that somebody has set, such as a flag, is written as it is, by [time.Duration.String].
func Duration(d time.Duration) string {
	if d < 0 {
		return "-" + Duration(d.Abs())
	}
	for i, unit := range units {
		whole, rest := d/unit.of, d%unit.of
		switch {
		case whole == 0:
			continue
		case whole >= 10 || unit.of == time.Nanosecond:
			return fmt.Sprintf("%d%s", whole, unit.name)
		case unit.of >= time.Minute:
			return fmt.Sprintf("%d%s%02d%s", whole, unit.name, rest/units[i+1].of, units[i+1].name)
		}
		return fmt.Sprintf("%d.%d%s", whole, 10*rest/unit.of, unit.name)
	}
	return "0s"
}
