package watch

import (
	"cmp"
	"slices"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/tree"
)

// A table is what is known of all keys. It is made of samples alone, and knows no other clock than theirs.
type table struct {
	tracks map[string]*track
	named  []string // keys that stay in it, whoever has them; empty: those that were found
	missed bool     // there were more keys than the table takes
}

// A track is what is known of one key.
type track struct {
	redislock.KeyState           // as it was at the latest sample; before the first it is the name alone
	at                 time.Time // of that sample; zero: there was none
	server             time.Time // the same, by the server's clock

	holders []string      // who holds it, as far as one can be told from another; sorted
	since   time.Time     // when these were first seen
	lease   time.Duration // the longest TTL that was seen of them
	line    int           // how many waited then
	marks   []mark        // of the last samples, for as long as the window, but two at least
	circle  *tree.Circle  // the deadlock that it is a part of, as the latest look has shown; nil: none
	busy    time.Time
}

// A mark is how many holders were new in a sample.
type mark struct {
	at    time.Time
	fresh int
}

const (
	mostKeys = 100_000          // that a table takes
	window   = 10 * time.Second // in which hand-offs are counted
	shortest = window / 20      // two looks that are closer say nothing about a second
	lingers  = 10 * time.Second // for which a key that is free is still shown
)

// newTable makes a table. Keys that are named stay in it.
func newTable(named []string) *table {
	t := &table{tracks: make(map[string]*track), named: named}
	for _, key := range named {
		t.tracks[key] = &track{KeyState: redislock.KeyState{Key: key}}
	}
	return t
}

func (t *table) observe(s sample) {
	for _, state := range s.states {
		one := t.tracks[state.Key]
		if one == nil {
			if t.missed = t.missed || len(t.tracks) >= mostKeys; len(t.tracks) >= mostKeys || len(t.named) > 0 {
				continue
			}
			one = new(track)
			t.tracks[state.Key] = one
		}
		one.observe(s.at, s.server, state)
		if !s.found {
			one.circle = circleOf(s.circles, state.Key)
		}
	}
	t.forget(s.at)
}

// circleOf returns the deadlock that a key is a part of, if it may be a certain one; nil if there is none.
func circleOf(circles []tree.Circle, key string) (found *tree.Circle) {
	for i, c := range circles {
		if slices.Contains(c.Keys, key) && (found == nil || c.Certain && !found.Certain) {
			found = &circles[i]
		}
	}
	return found
}

// forget drops keys that nobody has used for a while, unless they are named.
func (t *table) forget(now time.Time) {
	if len(t.named) > 0 {
		return
	}
	for key, one := range t.tracks {
		if !one.isUsed() && now.Sub(one.busy) > lingers {
			delete(t.tracks, key)
			t.missed = false
		}
	}
}

// known reports whether there was a sample at all.
func (k *track) known() bool { return !k.at.IsZero() }

func (k *track) isHeld() bool { return k.Mode == redislock.ModeWrite || k.Mode == redislock.ModeRead }

// isUsed reports whether somebody holds the key or waits for it.
func (k *track) isUsed() bool { return k.isHeld() || len(k.Line) > 0 || k.Intent != nil }

// observe takes in what was seen of one key. What is older than what is known already is left out.
func (k *track) observe(at, server time.Time, state redislock.KeyState) {
	if !at.After(k.at) {
		return
	}
	holders := identities(state)
	fresh := 0
	for _, name := range holders {
		if _, has := slices.BinarySearch(k.holders, name); !has {
			fresh++
		}
	}
	if fresh == 0 && state.Mode == redislock.ModeWrite && state.Fence > k.Fence && k.Fence > 0 {
		fresh = 1 // the same holder has obtained it anew
	}
	isLeft := len(holders) == 0 && len(k.holders) > 0 // but a reader that leaves changes nothing for those who stay
	if fresh > 0 || isLeft || !k.known() {
		k.since, k.lease, k.line = at, 0, len(state.Line)-cli.Gone(state)
	}
	k.holders = holders
	for _, h := range state.Holders {
		k.lease = max(k.lease, h.TTL)
	}
	k.marks = append(k.marks, mark{at, fresh})
	for len(k.marks) > 2 && at.Sub(k.marks[1].at) >= window {
		k.marks = k.marks[1:]
	}
	k.KeyState, k.at, k.server = state, at, server
	if k.isUsed() {
		k.busy = at
	}
}

// identities names the holders of a key, each so that it differs from another, sorted. What is stored does not always tell two
// holds of one process from each other.
func identities(state redislock.KeyState) []string {
	names := make([]string, 0, len(state.Holders))
	for _, h := range state.Holders {
		name := h.Metadata + "\x00" + h.Caller
		if !h.Since.IsZero() {
			name += "\x00" + h.Since.UTC().Format(time.RFC3339Nano)
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// handOffs returns how many hand-offs a second there were at least. Nothing is known of before the first mark.
func (k *track) handOffs() (rate float64, known bool) {
	if len(k.marks) < 2 {
		return 0, false
	}
	passed := k.marks[len(k.marks)-1].at.Sub(k.marks[0].at)
	if passed < shortest {
		return 0, false
	}
	n := 0
	for _, m := range k.marks[1:] {
		n += m.fresh
	}
	return float64(n) / passed.Seconds(), true
}

// cost is what a look at the key costs: the more who stand in its line, or read it, the more.
func (k *track) cost() float64 {
	return lookCost + float64(len(k.Line)+len(k.Holders))/10
}

// choose returns which keys to look at next, for what that may cost: those that are shown, then others. Those come first that were
// not looked at for longest, so that each has its turn.
func (t *table) choose(shown []string, budget float64) (chosen []string) {
	var first, then []*track
	for key, k := range t.tracks {
		if slices.Contains(shown, key) {
			first = append(first, k)
		} else {
			then = append(then, k)
		}
	}
	byAge := func(a, b *track) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.Key, b.Key)) }
	slices.SortFunc(first, byAge)
	slices.SortFunc(then, byAge)
	for _, k := range slices.Concat(first, then) {
		if budget -= k.cost(); budget < 0 && len(chosen) > 0 {
			break
		}
		chosen = append(chosen, k.Key)
	}
	return chosen
}
