// Package count writes how many there are of something, with the right word for one as well.
package count

import "strconv"

// Of returns "1 key", or "2 keys": what is a noun with a plural in s.
func Of[N ~int | ~int64](n N, what string) string { return Either(n, what, what+"s") }

// Either returns "1 key is" or "2 keys are".
func Either[N ~int | ~int64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Number(n) + " " + many
}

// Number writes a number that is not negative, with spaces between its thousands.
func Number[N ~int | ~int64](n N) string {
	text := strconv.FormatInt(int64(n), 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + " " + text[i:]
	}
	return text
}
