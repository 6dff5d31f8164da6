// Package count says how many there are of something, so that it is right for one as well.
package count

import "strconv"

// Of returns "1 key", or "2 keys": what is a noun that takes an s.
func Of[N ~int | ~int64](n N, what string) string {
	if n != 1 {
		what += "s"
	}
	return strconv.FormatInt(int64(n), 10) + " " + what
}
