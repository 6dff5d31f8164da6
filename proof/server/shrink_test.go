package server

import (
	"context"
	"maps"
	"slices"
)

// mostTries is how many courses are tried to find the shortest: the longest may have thousands of keys.
const mostTries = 300

// shrink returns a shorter course on which the servers differ as well: without steps, then without keys, members and fields of what
// there is at first, as far as they do not matter.
func (c *Course) shrink(ctx context.Context, s *scriptServer) *Course {
	least, rest := c, mostTries
	try := func(shorter *Course) bool {
		if rest--; rest < 0 {
			return false
		}
		diff, err := shorter.play(ctx, s, nil)
		if err == nil && diff != "" {
			least = shorter
			return true
		}
		return false
	}
	without := func(i int) *Course {
		return &Course{Start: least.Start, Steps: slices.Delete(slices.Clone(least.Steps), i, i+1)}
	}
	for i := len(least.Steps) - 1; i >= 0; i-- {
		if i < len(least.Steps) {
			try(without(i))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(least.Start)) {
		space := least.Start.Clone()
		if delete(space, key); try(&Course{Start: space, Steps: slices.Clone(least.Steps)}) {
			continue
		}
		for i := len(least.Start[key].Members) - 2; i >= 0; i-- { // a key that is read ends with the last
			space := least.Start.Clone()
			space[key].Members = slices.Delete(space[key].Members, i, i+1)
			try(&Course{Start: space, Steps: slices.Clone(least.Steps)})
		}
		for _, field := range slices.Sorted(maps.Keys(least.Start[key].Fields)) {
			space := least.Start.Clone()
			if delete(space[key].Fields, field); len(space[key].Fields) > 0 {
				try(&Course{Start: space, Steps: slices.Clone(least.Steps)})
			}
		}
	}
	return least
}
