package redislock

import (
	"errors"
	"fmt"
	"testing"

	"github.com/seed-14de3678/redislock/internal/slot"
)

func TestPlacement(t *testing.T) {
	t.Parallel()
	one, two := "{one}", ""
	for i := 0; two == "" || slot.Of(one) != slot.Of(two); i++ {
		two = fmt.Sprintf("{%d}", i)
	}
	for _, c := range []struct {
		keys []string
		fits map[placement]bool
	}{
		{[]string{"a"}, map[placement]bool{anywhere: true, bySlot: true, byTag: true, byBraces: true}},
		{[]string{"a", "b"}, map[placement]bool{anywhere: true}},
		{[]string{"{a}", "{b}"}, map[placement]bool{anywhere: true}},
		{[]string{"{a}1", "{a}2"}, map[placement]bool{anywhere: true, bySlot: true, byTag: true, byBraces: true}},
		{[]string{"{a}1", "a"}, map[placement]bool{anywhere: true, bySlot: true, byTag: true}},
		{[]string{"a", "{a}1"}, map[placement]bool{anywhere: true, bySlot: true, byTag: true}},
		{[]string{one, two}, map[placement]bool{anywhere: true, bySlot: true}},
		{[]string{one, one + "x", two}, map[placement]bool{anywhere: true, bySlot: true}},
	} {
		for _, p := range []placement{anywhere, bySlot, byTag, byBraces} {
			if err := p.check(c.keys); (err == nil) != c.fits[p] || err != nil && !errors.Is(err, ErrCrossSlot) {
				t.Errorf("placement %d of %q: got error %v, want none: %t", p, c.keys, err, c.fits[p])
			}
		}
	}
}
