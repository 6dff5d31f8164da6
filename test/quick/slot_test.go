package quick_test

import (
	"hash/crc32"
	"strings"
	"testing"

	"github.com/seed-14de3678/redislock/internal/slot"
)

// The slots are those that CLUSTER KEYSLOT of Redis 7.0 answers.
func TestSlot(t *testing.T) {
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

// The tags are in names that are stored, so all of them are as they were.
func TestShort(t *testing.T) {
	t.Parallel()
	var all []byte
	for s := range uint16(16384) {
		tag := slot.Short(s)
		if got := slot.Of(tag); got != s {
			t.Errorf("got slot %d of the tag %q, want %d", got, tag, s)
		}
		if len(tag) != 3 || strings.Trim(tag, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") != "" {
			t.Errorf("got tag %q of slot %d, want three letters and digits", tag, s)
		}
		all = append(all, tag...)
	}
	if got, want := crc32.ChecksumIEEE(all), uint32(0xd12f36ff); got != want {
		t.Errorf("got other tags, of the sum %#x, want %#x", got, want)
	}
}

// FuzzShort: behind the tag of its slot, a key is where it was.
func FuzzShort(f *testing.F) {
	for _, key := range []string{"a}b", "}", "{}x}", "a}{b", "{", "{a}b", ""} {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, key string) {
		name := "redislock:line~{" + slot.Short(slot.Of(key)) + "}" + key
		if got, want := slot.Of(name), slot.Of(key); got != want {
			t.Errorf("got slot %d of %q, want %d", got, name, want)
		}
	})
}
