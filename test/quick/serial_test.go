package quick_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-14de3678/redislock/internal/serial"
)

// Turns follow one another. Who may not wait any more has one beside others, and those behind wait for that one as well.
func TestTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var turns serial.Turns
		var took []time.Duration // until each began
		began := time.Now()
		turn := func(ctx context.Context, lasts time.Duration) {
			turns.Take(ctx)
			took = append(took, time.Since(began))
			time.Sleep(lasts)
			turns.End()
		}
		impatient, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		turn(t.Context(), 0)
		go turn(t.Context(), 10*time.Second)
		synctest.Wait()
		go turn(impatient, 20*time.Second)
		synctest.Wait()
		go turn(t.Context(), time.Second)
		time.Sleep(time.Minute)
		turn(impatient, 0)
		want := []time.Duration{0, 0, 5 * time.Second, 25 * time.Second, time.Minute}
		if !slices.Equal(took, want) {
			t.Errorf("turns began after %v, want %v", took, want)
		}
	})
}

// A turn for which nobody waits costs no memory.
func TestTurnsAllocations(t *testing.T) {
	var turns serial.Turns
	if n := testing.AllocsPerRun(100, func() {
		turns.Take(t.Context())
		turns.End()
	}); n > 0 {
		t.Errorf("a turn allocates %v times", n)
	}
}
