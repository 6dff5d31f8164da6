package redislock

import (
	"strings"
	"testing"

	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/slot"
)

// slotKeys have hash tags, and what looks like one.
var slotKeys = []string{
	"", "a", "foo", "{a}", "{}a", "{a}{b}", "a{b", "a}b", "}{", "foo{{bar}}zap", "foo{}{bar}", "foo{bar}{zap}",
	"{{a}}", "{a", "a}", "{}", "{}{}", "a{}b}c", "\x00\xff{\x00}", "é{ü}", "123456789",
}

func TestSlotsAreThoseOfTheServer(t *testing.T) {
	t.Parallel()
	rdb := redistest.Start(t, redistest.Redis, "--cluster-enabled", "yes").Client(t)
	for _, key := range slotKeys {
		want := do(t, rdb, "cluster", "keyslot", key)
		if got := int64(slot.Of(key)); got != want {
			t.Errorf("%q: got slot %d, want %d", key, got, want)
		}
		if beside, err := companion("intent", key); err == nil && key != "" {
			if got := do(t, rdb, "cluster", "keyslot", beside); got != want {
				t.Errorf("%q: got slot %d of its companion %q, want %d", key, got, beside, want)
			}
		}
	}
}

// FuzzSlot: a companion always has the slot of its key, and only a key with a '}' and no hash tag has
// none.
func FuzzSlot(f *testing.F) {
	for _, key := range slotKeys {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, key string) {
		if got := slot.Of(key); got >= 16384 {
			t.Errorf("%q: got slot %d", key, got)
		}
		beside, err := companion("intent", key)
		if err != nil {
			if !strings.Contains(key, "}") || slot.Tag(key) != key {
				t.Errorf("%q: got error %v", key, err)
			}
			return
		}
		if key != "" && slot.Of(beside) != slot.Of(key) {
			t.Errorf("%q: got slot %d of its companion %q, want %d", key, slot.Of(beside), beside, slot.Of(key))
		}
		if !strings.HasPrefix(beside, "redislock:intent") || !strings.Contains(beside, key) {
			t.Errorf("%q: got companion %q", key, beside)
		}
	})
}
