package quick_test

import (
	"testing"

	"github.com/seed-14de3678/redislock/internal/count"
)

func TestCount(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "0 attempts", 1: "1 attempt", 2: "2 attempts", 21: "21 attempts", 999: "999 attempts", 1000: "1 000 attempts", 1234567: "1 234 567 attempts"} {
		if got := count.Of(n, "attempt"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
