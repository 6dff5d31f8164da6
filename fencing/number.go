package fencing

import (
	"errors"
	"fmt"
)

// maxNumber is the greatest number that a float64 holds next to all smaller ones: Lua in Redis and
// JavaScript have no other numbers. In microseconds since 1970 it is the year 2255.
const maxNumber = 1<<53 - 1

var (
	// ErrStale means that the resource has seen a greater number: the lock has had a newer holder.
	// Nothing was written. It is no use to try again with the same number; obtain the lock again
	// instead. The error is a [*StaleError], except from [Exec], which does not learn the greater
	// number.
	ErrStale = errors.New("stale number")

	// ErrInvalidNumber means that there is no number, or one that no lock gives: zero, negative, or
	// more than 2⁵³−1. Zero is the number of a lock that is not fenced.
	ErrInvalidNumber = errors.New("invalid number")
)

// A StaleError says which number was refused at which resource, and which number is the newest. It is an [ErrStale].
type StaleError struct {
	Resource string // the resource of a Guard, or the key in Redis
	Number   int64  // the number that came
	Newest   int64  // the greatest seen; for a resource that a Guard has forgotten, see Guard.Limit
}

// Error names the resource and both numbers.
func (e *StaleError) Error() string {
	return fmt.Sprintf("fencing: stale number %d for %q: it has seen %d", e.Number, e.Resource, e.Newest)
}

// Is reports that every StaleError is an [ErrStale].
func (e *StaleError) Is(target error) bool { return target == ErrStale }

// check reports ErrInvalidNumber.
func check(number int64) error {
	if number < 1 || number > maxNumber {
		return fmt.Errorf("fencing: %w: %d is not from 1 to %d", ErrInvalidNumber, number, int64(maxNumber))
	}
	return nil
}
