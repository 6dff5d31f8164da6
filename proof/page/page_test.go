package page

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A page with everything that is read.
const sample = "# Proof\n\nProse with `some code`.\n\n" +
	"## What is guaranteed\n\n" +
	"> **All or nothing.** A set is\n> taken in one script.\n\n" +
	"- Models: `line`, and `modes` for readers\n" +
	"- Tests: `. TestExclusion`, `test/lease TestConvert/upgrade`,\n  `TestRead`\n" +
	"- By hand: `make matrix`: `test/matrix TestMatrix`\n" +
	"- Campaign: `exclusion`\n\n" +
	"> Another.\n\n" +
	"- Models: none, because it is not a matter of order\n\n" +
	"## Faults\n\n" +
	"| # | what happens | tests | by hand, or why not |\n|---|---|---|---|\n" +
	"| 1 | nothing | `. TestExclusion`, `TestObtain` | |\n" +
	"| 2 | much | | `proof/torture TestTorture` |\n"

func TestRead(t *testing.T) {
	t.Parallel()
	want := &Page{
		Promises: []Promise{
			{
				Text: "**All or nothing.** A set is taken in one script.", Models: []string{"line", "modes"}, Checks: []string{"exclusion"},
				Tests:  []Test{{".", "TestExclusion"}, {"test/lease", "TestConvert/upgrade"}, {"test/lease", "TestRead"}},
				ByHand: []Test{{"test/matrix", "TestMatrix"}},
			},
			{Text: "Another."},
		},
		Tables: []Table{{
			Section: "Faults", Head: []string{"#", "what happens", "tests", "by hand, or why not"},
			Rows: []Row{
				{Cells: []string{"1", "nothing", "`. TestExclusion`, `TestObtain`", ""}, Tests: []Test{{".", "TestExclusion"}, {".", "TestObtain"}}},
				{Cells: []string{"2", "much", "", "`proof/torture TestTorture`"}, ByHand: []Test{{"proof/torture", "TestTorture"}}},
			},
		}},
	}
	got := Read(sample)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("page (-want +got):\n%s", diff)
	}
	asked, byHand := got.Tests()
	wantAsked := []Test{{".", "TestExclusion"}, {"test/lease", "TestConvert/upgrade"}, {"test/lease", "TestRead"}, {".", "TestObtain"}}
	wantByHand := []Test{{"test/matrix", "TestMatrix"}, {"proof/torture", "TestTorture"}}
	if diff := cmp.Diff([][]Test{wantAsked, wantByHand}, [][]Test{asked, byHand}); diff != "" {
		t.Errorf("tests (-want +got):\n%s", diff)
	}
}
