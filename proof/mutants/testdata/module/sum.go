// Package fixture has at least one place for each rule.
package fixture

import (
	"context"
	"errors"
	"time"
)

// most is the greatest sum.
const most = 100

// ErrMany says that a sum is too great.
var ErrMany = errors.New("too many")

type limits struct {
	least, all int
	name       string
}

// Sum adds numbers up, as long as they are no more than most.
func Sum(numbers ...int) (sum int, err error) {
	for _, n := range numbers {
		sum += n
	}
	if sum > most {
		return 0, ErrMany
	}
	return sum, nil
}

// Between reports whether a number is between two others.
func Between(n, low, high int) bool {
	return low <= n && n < high
}

// Distance is how far one is from the other.
func Distance(from, to int) int {
	switch {
	case from > to:
		return from - to
	}
	return to - from
}

// Unseen does something that nobody can see.
func Unseen() string {
	l := limits{all: 3, name: "all"}
	l.least = 7
	return l.name
}

// Wait waits a little, unless ctx ends.
func Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(2 * time.Millisecond):
	}
	return ended(ctx)
}

func ended(ctx context.Context) error { return ctx.Err() }

// Sign ends in every case of a switch.
func Sign(n int) string {
	switch {
	case n < 0:
		panic("less")
	default:
		panic("more")
	}
}
