package tied

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/proof/server"
)

func serverSaid(reply any) server.Outcome { return server.Outcome{Reply: reply} }

// Of more runs than are compared any may be; each counts once.
func TestSample(t *testing.T) {
	t.Parallel()
	const most, rounds, runs = 10, 400, 40
	kept := map[int]int{}
	for range rounds {
		tie := NewTie[int](most)
		for i := range 3 * runs {
			tie.Note(i % runs)
		}
		hashes := tie.hashes()
		if len(hashes) != most {
			t.Fatalf("got %d runs, want %d", len(hashes), most)
		}
		for _, hash := range hashes {
			kept[tie.kept[hash]]++
		}
	}
	for i := range runs {
		if n := kept[i]; n < rounds*most/runs/3 {
			t.Errorf("run %d was kept %d times of %d", i, n, rounds)
		}
	}
}

// A recorder is a test that is to fail.
type recorder struct {
	testing.TB
	logs, errors []string
}

func (*recorder) Helper()          {}
func (r *recorder) Log(all ...any) { r.logs = append(r.logs, fmt.Sprint(all...)) }
func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

// A difference is reported, and so is a script of which nothing was compared.
func TestCheck(t *testing.T) {
	t.Parallel()
	caseOf := func(code proto.Code) Case {
		c := Case{Wishes: []Wish{one}, Call: Call{Request: one.Obtain(proto.Place{})}}
		c.Want.Reply.Code = code
		c.Coarse = func(o *Outcome) { *o = Outcome{Reply: Reply{Code: o.Reply.Code}} }
		return c
	}
	for name, tt := range map[string]struct {
		runs    []proto.Code
		scripts []string
		want    []string
	}{
		"alike":      {[]proto.Code{proto.Done}, []string{"rw"}, nil},
		"different":  {[]proto.Code{proto.Done, proto.Refused}, []string{"rw"}, []string{"rw: 1 of 2 runs differ"}},
		"not run":    {[]proto.Code{proto.Done}, []string{"rw", "release"}, []string{"runs of [rw] were compared, want [release rw]"}},
		"no run":     {nil, []string{"rw"}, []string{"runs of [] were compared, want [rw]"}},
		"unexpected": {[]proto.Code{proto.Done}, nil, []string{"runs of [rw] were compared, want []"}},
	} {
		tie := NewTie[proto.Code](3)
		for _, run := range tt.runs {
			tie.Note(run)
		}
		r := &recorder{TB: t}
		tie.Check(r, caseOf, tt.scripts...)
		if !slices.EqualFunc(r.errors, tt.want, strings.HasPrefix) || len(r.logs) != 1 {
			t.Errorf("%s: got %q, want %q; logged %q", name, r.errors, tt.want, r.logs)
		}
	}
}
