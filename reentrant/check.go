package reentrant

import (
	"cmp"
	"context"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
)

// TB is what [CheckReleased] needs of a [testing.TB].
type TB interface {
	Helper()
	Errorf(format string, args ...any)
}

// CheckReleased fails the test for each hold of the owner of ctx that was not released, and says
// where it was obtained. It does not release these holds.
//
//	ctx := reentrant.NewOwner(t.Context())
//	defer reentrant.CheckReleased(t, ctx)
func CheckReleased(tb TB, ctx context.Context) { //nolint:revive // testing helpers have the test first
	tb.Helper()
	o := ownerOf(ctx)
	if o == nil {
		tb.Errorf("reentrant: %v", ErrNoOwner)
		return
	}
	for _, h := range o.unreleased() {
		tb.Errorf("reentrant: not released: %s, obtained at %s", h.name(), h.place())
	}
}

// unreleased returns the holds there are, by where they were obtained.
func (o *owner) unreleased() []*Hold {
	o.mu.Lock()
	defer o.mu.Unlock()
	var holds []*Hold
	for h := o.last; h != nil; h = h.before {
		holds = append(holds, h)
	}
	slices.SortFunc(holds, func(a, b *Hold) int {
		return cmp.Or(cmp.Compare(a.place(), b.place()), cmp.Compare(a.name(), b.name()))
	})
	return holds
}

// place returns the file and line of the call that obtained the hold.
func (h *Hold) place() string {
	frame, _ := runtime.CallersFrames(h.where[:]).Next()
	return filepath.Base(frame.File) + ":" + strconv.Itoa(frame.Line)
}
