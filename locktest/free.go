package locktest

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/seed-14de3678/redislock"
)

const (
	// patience is how long requests in the background may take.
	patience = 5 * time.Second
	// firstLook and lastLook are how long it takes from one look to the next meanwhile: longer each time.
	firstLook = 5 * time.Millisecond
	lastLook  = 100 * time.Millisecond
)

// AssertFree fails the test if a key is held, or somebody stands in line for it or keeps readers away from it
// ([redislock.Options].Intent), and says who. For a lock of a [Server.Client] it also names the file and line of the
// Obtain. It looks at all keys that were asked for by a [Server.Client] or over [Server.Redis].
//
// Requests that are under way, such as a clean-up in the background, have 5 seconds to end. A lock that
// ends by itself meanwhile counts as held: nobody has released it. AssertFree does not see a lock that
// has ended before, so give locks in tests a ttl that is long enough. Locks of [Server.Hold] do not
// count, nor do keys that were left, by [redislock.Lock.Leave] or [redislock.Options].HoldAtLeast.
func (s *Server) AssertFree() {
	s.tb.Helper()
	s.assertFree("")
}

func (s *Server) assertFree(when string) {
	s.tb.Helper()
	found, err := s.leftovers()
	switch {
	case err != nil:
		s.tb.Errorf("locktest: nobody knows what is held: %v", err)
	case len(found) > 0:
		s.tb.Errorf("locktest: not free%s:\n\t%s", strings.TrimSuffix(" "+when, " "), strings.Join(found, "\n\t"))
	}
}

// A sighting is a key that is not free.
type sighting struct {
	text string
	ends time.Time // the leases, as far as they were known
}

// leftovers describes the keys that are not free when patience is over.
func (s *Server) leftovers() ([]string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	seen := map[string]sighting{}
	end := time.Now().Add(patience)
	for pause := firstLook; ; pause = min(2*pause, lastLook) {
		states, err := s.other.Inspect(ctx, s.names())
		if err != nil {
			return nil, err
		}
		at := time.Now()
		for _, state := range states {
			if left, ok := s.isTaken(ctx, state); ok {
				text := state.String()
				if place := s.places.of(state.Key); place != "" {
					text += ", obtained at " + place
				}
				seen[state.Key] = sighting{text, at.Add(left)}
			} else if before, ok := seen[state.Key]; ok && at.Before(before.ends) {
				delete(seen, state.Key) // it was released
			}
		}
		if len(seen) == 0 || !at.Before(end) {
			break
		}
		time.Sleep(pause)
	}
	var found []string
	for _, key := range slices.Sorted(maps.Keys(seen)) {
		found = append(found, seen[key].text)
	}
	return found, nil
}

// isTaken reports whether somebody else than the Server holds a key or waits for it, and how long that lasts
// if nothing else happens.
func (s *Server) isTaken(ctx context.Context, state redislock.KeyState) (left time.Duration, taken bool) {
	for _, holder := range state.Holders {
		if holder.Left || holder.Metadata == SomebodyElse && s.isHeld(ctx, state.Key) {
			continue
		}
		left, taken = max(left, holder.TTL), true
	}
	waits := state.Intent != nil
	for _, waiter := range state.Line {
		waits = waits || waiter.Alive
	}
	if waits && !taken {
		return holdTTL, true
	}
	return left, taken
}
