package slot_test

import (
	"testing"

	"github.com/seed-14de3678/redislock/internal/slot"
)

// The slots are those that CLUSTER KEYSLOT of Redis 7.0 answers.
func TestOf(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		key, tag string
		slot     uint16
	}{
		{"123456789", "123456789", 12739},
		{"foo", "foo", 12182},
		{"{user1000}.following", "user1000", 3443},
		{"user1000", "user1000", 3443},
		{"foo{bar}{zap}", "bar", 5061},
		{"foo{{bar}}zap", "{bar", 4015},
		{"foo{}{bar}", "foo{}{bar}", 8363},
		{"a}b{c}", "c", 7365},
		{"{open", "{open", 7674},
		{"\xff\x00", "\xff\x00", 1023},
		{"", "", 0},
	} {
		if got := slot.Tag(row.key); got != row.tag {
			t.Errorf("got tag %q of %q, want %q", got, row.key, row.tag)
		}
		if got := slot.Of(row.key); got != row.slot {
			t.Errorf("got slot %d of %q, want %d", got, row.key, row.slot)
		}
	}
}
