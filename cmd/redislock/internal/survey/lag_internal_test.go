package survey

import (
	"testing"
	"time"
)

func TestLag(t *testing.T) {
	t.Parallel()
	var l lag
	for _, row := range []struct{ took, pause time.Duration }{
		{20 * time.Millisecond, 0}, // far away, perhaps
		{25 * time.Millisecond, 15 * time.Millisecond},
		{2 * time.Millisecond, 0},
		{2*time.Millisecond + leastLate/2, 0},
		{3 * time.Millisecond, 3 * time.Millisecond},
		{time.Second, mostPause},
	} {
		l.took(row.took, 200)
		if got := l.next(); got != row.pause {
			t.Errorf("a pause of %v after %v, want %v", got, row.took, row.pause)
		}
	}
}
