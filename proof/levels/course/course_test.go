package course_test

import (
	"testing"

	"github.com/seed-14de3678/redislock/proof/levels/course"
)

// Kinds can be told apart, their callers share the work of a block, and one of them is the script that a limit refers to.
func TestKinds(t *testing.T) {
	t.Parallel()
	names, scripts := map[string]bool{}, 0
	for _, k := range course.Kinds {
		if names[k.Name] {
			t.Errorf("%s is there twice", k.Name)
		}
		names[k.Name] = true
		if k.Keys < 1 || k.Callers < 1 || k.Ops < 5*k.Callers || k.Ops%k.Callers != 0 {
			t.Errorf("%s: got %d keys, %d callers, %d operations", k.Name, k.Keys, k.Callers, k.Ops)
		}
		if (k.Most > 0) != (k.Beside != "") {
			t.Errorf("%s: has a limit beside nothing, or none", k.Name)
		}
		if k.Act == course.Least {
			scripts++
		}
	}
	if scripts != 1 {
		t.Errorf("got %d least scripts, want one", scripts)
	}
}

func TestLess(t *testing.T) {
	t.Parallel()
	before := course.Usage{Server: 1, Client: 2, Allocs: 3, Bytes: 4, Commands: 5}
	after := course.Usage{Server: 11, Client: 22, Allocs: 33, Bytes: 44, Commands: 55}
	if got, want := after.Less(before), (course.Usage{Server: 10, Client: 20, Allocs: 30, Bytes: 40, Commands: 50}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
