package explore

import (
	"math/rand/v2"
	"testing"
)

// A table tells hashes apart that have a half in common, and keeps its numbers when it grows.
func TestSeen(t *testing.T) {
	t.Parallel()
	var s seen
	random := rand.New(rand.NewPCG(1, 2))
	numbers := map[hash]int32{}
	for range 20_000 {
		h := hash{random.Uint64N(50), random.Uint64N(100)}
		want, before := numbers[h]
		if !before {
			want = int32(len(numbers))
			numbers[h] = want
		}
		if got, ok := s.number(h); got != want || ok != before {
			t.Fatalf("%v has the number %d, %t, want %d, %t", h, got, ok, want, before)
		}
	}
}
