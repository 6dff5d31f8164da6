package course_test

import (
	"testing"

	"github.com/seed-14de3678/redislock/proof/levels/course"
)

// Kinds can be told apart, their callers share the work of a block, and what limits refer to is there once.
func TestKinds(t *testing.T) {
	t.Parallel()
	names, references := map[string]bool{}, map[course.Beside]bool{}
	for _, k := range course.Kinds {
		if names[k.Name] {
			t.Errorf("%s is there twice", k.Name)
		}
		names[k.Name] = true
		if k.Keys < 1 || k.Callers < 1 || k.Ops < 5*k.Callers || k.Ops%k.Callers != 0 {
			t.Errorf("%s: got %d keys, %d callers, %d operations", k.Name, k.Keys, k.Callers, k.Ops)
		}
		for _, limit := range k.Limits {
			if limit.Most <= 0 || limit.Of == "" || limit.Beside == "" {
				t.Errorf("%s: got a limit of %+v", k.Name, limit)
			}
			if i, ok := limit.Beside.Kind(); ok == (limit.Beside == course.Old) || ok && course.Kinds[i].Is != limit.Beside {
				t.Errorf("%s: a limit refers to %q, which is kind %d", k.Name, limit.Beside, i)
			}
		}
		if references[k.Is] {
			t.Errorf("%s: is %q, as another one", k.Name, k.Is)
		}
		references[k.Is] = k.Is != ""
	}
}

func TestLess(t *testing.T) {
	t.Parallel()
	before := course.Usage{Server: 1, Client: 2, Allocs: 3, Bytes: 4, Commands: 5, Heap: 6}
	after := course.Usage{Server: 11, Client: 22, Allocs: 33, Bytes: 44, Commands: 55, Heap: 66}
	want := course.Usage{Server: 10, Client: 20, Allocs: 30, Bytes: 40, Commands: 50, Heap: 60}
	if got := after.Less(before); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
