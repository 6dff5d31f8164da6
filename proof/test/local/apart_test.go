package local_test

import (
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/local"
)

// Those who were let go ask by themselves, and came before all who wait since: as long as one of them asks, a hold is passed on to
// nobody.
func TestNotPassedOnBeforeThoseWhoWereLetGo(t *testing.T) {
	onStage(t, func(s *stage) {
		first, second := s.join(false), s.join(true)
		s.LetGo(first) // it was not answered for too long, for example
		s.want(local.Asks, first, second)
		l := &lock{}
		line := s.Holds(first, l, hasKeys, clock.Now().Add(time.Minute))
		third := s.join(true)
		if line.Pass(l, "the hold", nil) {
			t.Error("it was passed on to the third, while the second asks")
		}
		s.Quit(second)
		if !line.Pass(l, "the hold", nil) {
			t.Error("it was not passed on to the third, which is the next")
		}
		s.want(local.Given, third)
		s.Quit(third)
		line.Ends(l)
	})
}
