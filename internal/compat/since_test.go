//go:build compat

package compat_test

import (
	"strings"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/internal/compat"
)

// The tokens of the tree say when they were made, those of the earlier version and of callers say nothing. Each of the two
// takes the tokens of the other for what they are.
func TestSince(t *testing.T) {
	for name, obtain := range map[string]func(keys ...string) compat.Request{"write": lock, "read": read} {
		t.Run(name, func(t *testing.T) {
			alone(t, func(t *testing.T, w *world) {
				began := time.Now()
				w.newer.do(t, tagged(obtain("a"), "new"))
				w.newer.do(t, tagged(owned(obtain("b"), strings.Repeat("j", 30)), "named"))
				w.older.do(t, tagged(obtain("c"), "old"))
				ended := time.Now()
				for key, metadata := range map[string]string{"a": "new", "b": "named", "c": "old"} {
					inspect := compat.Request{Op: compat.Inspect, Write: []string{key}}
					seen := w.newer.do(t, inspect)
					switch {
					case seen.Mode != name, seen.Metadata != metadata:
						t.Errorf("the new peer sees %s of %q at %s", seen.Mode, seen.Metadata, key)
					case key != "a" && !seen.Since.IsZero():
						t.Errorf("%q has %s since %v, want that nothing is said", metadata, key, seen.Since)
					case key == "a" && (seen.Since.Before(began.Add(-time.Second)) || seen.Since.After(ended.Add(time.Second))):
						t.Errorf("%q has %s since %v, want a moment from %v to %v", metadata, key, seen.Since, began, ended)
					}
					if seen := w.older.do(t, inspect); seen.Mode != name || seen.Metadata != metadata || !seen.Since.IsZero() {
						t.Errorf("the old peer sees %+v", seen)
					}
				}
				for key, p := range map[string]*peer{"a": w.newer, "b": w.newer, "c": w.older} {
					p.release(t, key)
				}
			})
		})
	}
}
