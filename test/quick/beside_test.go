package quick_test

import (
	"strings"
	"testing"

	"github.com/seed-14de3678/redislock/internal/check"
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
	slotOf := func(key string) int64 {
		return check.Must[int64](t)(rdb.ClusterKeySlot(t.Context(), key).Result())
	}
	for _, key := range slotKeys {
		want := slotOf(key)
		if got := int64(slot.Of(key)); got != want {
			t.Errorf("%q: got slot %d, want %d", key, got, want)
		}
		if key == "" {
			continue // no lock key
		}
		for _, beside := range besides(key) {
			if got := slotOf(beside); got != want {
				t.Errorf("%q: got slot %d of %q beside it, want %d", key, got, beside, want)
			}
		}
	}
}

// purposes are those of the names beside a key.
var purposes = []string{"line", "intent", "fence"}

// besides returns all names beside a key, and one with what stands in braces in the channels of waiters.
func besides(key string) []string {
	names := []string{"redislock:wake:{" + slot.InBraces(key) + "}:me"}
	for _, purpose := range purposes {
		names = append(names, slot.Beside(purpose, key))
	}
	return names
}

// FuzzSlot: every name beside a key has the slot of the key.
func FuzzSlot(f *testing.F) {
	for _, key := range slotKeys {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, key string) {
		if got := slot.Of(key); got >= 16384 {
			t.Errorf("%q: got slot %d", key, got)
		}
		if key == "" {
			return // no lock key
		}
		for _, beside := range besides(key) {
			if slot.Of(beside) != slot.Of(key) {
				t.Errorf("%q: got slot %d of %q beside it, want %d", key, slot.Of(beside), beside, slot.Of(key))
			}
		}
		if beside := slot.Beside("intent", key); !strings.HasPrefix(beside, "redislock:intent") || !strings.Contains(beside, key) {
			t.Errorf("%q: got %q", key, beside)
		}
	})
}

// The three forms, which are stored: processes of other versions make the same.
func TestCompanion(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{
		"a": "redislock:line:{a}", "a{b": "redislock:line:{a{b}",
		"{a}b": "redislock:line={a}b", "a}b{c}": "redislock:line=a}b{c}",
		"a}b": "redislock:line~{4w2}a}b", "}": "redislock:line~{2Rd}}",
		"{}x}": "redislock:line~{4u3}{}x}", "a}{b": "redislock:line~{26J}a}{b",
	} {
		if got := slot.Beside("line", key); got != want {
			t.Errorf("%q: got %q, want %q", key, got, want)
		}
	}
}

// What no name beside a key is, is not taken for one.
func TestApart(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"", "a", "redislock:", "redislock:line", "redislock:line:", "redislock:line:{}", "redislock:line:{a", "redislock:line:a",
		"redislock:line:{a}b", "redislock:line=a", "redislock:line={}", "redislock:line~{4w2}a", "redislock:line~{xxx}a}b",
		"redislock::{a}", "lock:redislock:line:{a}", "redislock:line:{a}}", "redislock:line:{{a}}",
	} {
		if purpose, key, ok := slot.Apart(name); ok {
			t.Errorf("%q is taken for the name beside %q for %q", name, key, purpose)
		}
	}
}

// That a name can be taken apart means that no two keys have the same.
func FuzzCompanion(f *testing.F) {
	for _, key := range slotKeys {
		for _, other := range slotKeys {
			f.Add(key, other)
		}
	}
	f.Fuzz(func(t *testing.T, key, other string) {
		for _, purpose := range purposes {
			name := slot.Beside(purpose, key)
			if p, k, ok := slot.Apart(name); ok != (key != "") || ok && (p != purpose || k != key) {
				t.Errorf("%q is beside %q for %q, got %q for %q, %t", name, key, purpose, k, p, ok)
			}
			for _, p := range purposes {
				if name == slot.Beside(p, other) && (p != purpose || key != other) {
					t.Errorf("%q is beside %q for %q and beside %q for %q", name, key, purpose, other, p)
				}
			}
		}
	})
}

// Among all short keys of what names beside keys are made of, no two have one in common.
func TestCompanionsDiffer(t *testing.T) {
	t.Parallel()
	of := make(map[string]string)
	keys := []string{""}
	for range 5 {
		var longer []string
		for _, key := range keys {
			for _, c := range "{}a:=~" {
				longer = append(longer, key+string(c))
			}
		}
		for _, key := range longer {
			for _, purpose := range purposes {
				name := slot.Beside(purpose, key)
				if other, again := of[name]; again {
					t.Fatalf("%q is beside %q and %q", name, key, other)
				}
				of[name] = key
				if slot.Of(name) != slot.Of(key) {
					t.Fatalf("%q: got slot %d of %q beside it, want %d", key, slot.Of(name), name, slot.Of(key))
				}
			}
		}
		keys = longer
	}
}
