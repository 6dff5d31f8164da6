package matrix_test

import (
	"context"
	"crypto/fips140"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
)

// localRows are the late requests of locks whose Release gives the keys to the next Obtain of its Client, or passes its hold on.
func localRows() []*row {
	var rows []*row
	for _, size := range []int{3, 1} {
		add := func(r row) {
			r.name, r.size, r.generated, r.local = r.name+suffixOf(size, false), size, !r.known, true
			rows = append(rows, &r)
		}
		for _, fenced := range []bool{false, true} {
			suffix := ""
			if fenced {
				suffix = ", fenced"
			}
			carries := row{code: 'r', base: 'Q', late: carries, fenced: fenced}
			served, gone, known := carries, carries, carries
			served.name, served.run, served.afterwards = "release that carries"+suffix, lateCarrying, (*cell).nextHas
			served.served, served.harmless = true, "its keys are free, or those of the next one, which has them by then, and nobody else has either token"
			add(served)
			gone.name, gone.run, gone.afterwards = "release that carries one that gives up"+suffix, lateCarryingInVain, (*cell).nextHasNot
			add(gone)
			known.name, known.run, known.afterwards = "release that carries, token known"+suffix, lateCarryingInVain, (*cell).nextHasNot
			known.known = true
			add(known)
			// Then only what the releaser has closed keeps the keys from one that has left.
			known.name, known.ways, known.loses = "release that carries, token known, nothing else arrives"+suffix, "G", true
			add(known)
		}
		for _, r := range []row{
			{name: "renewal", code: 'n', grows: true, scripts: "refresh", harmless: "a renewal never shortens"},
			{
				name: "renewal before that", code: 'n', grows: true, scripts: "refresh", run: lateRenewalAndNext, afterwards: (*cell).nextHas,
				harmless: "a renewal never shortens",
			},
			{name: "refresh shorter", code: 's'},
			{name: "downgrade", code: 'd'},
			{name: "release", code: 'r', harmless: freesItsOwn},
			{name: "leave", code: 'L', harmless: freesItsOwn},
			{name: "break", code: 'K', run: lateBreak, ways: "RC"},
		} {
			r.name, r.base, r.passes = r.name+", passed on", 'P', true
			add(r)
		}
	}
	return rows
}

// An outcome is how an Obtain has ended that waited behind others of its Client.
type outcome struct {
	lock *redislock.Lock
	err  error
}

// localOptions are those of an Obtain that stands in the line of its Client first. Those of holds that are passed on are the same.
func (c *cell) localOptions() *redislock.Options {
	opt := c.lineOptions()
	opt.Wait = time.Hour // one without goes the short way, in which nothing is carried
	if c.row.passes {
		opt.PassOn, opt.Metadata = firstTTL/2, "passing"
	}
	return opt
}

// queues has an Obtain of the Client of the newest hold wait behind that.
func (c *cell) queues(ctx context.Context) {
	next := make(chan outcome, 1)
	c.behind = next
	go func() {
		lock, err := c.main.Obtain(ctx, c.keys, firstTTL, c.localOptions())
		next <- outcome{lock, err}
	}()
	c.settle()
}

// nextHas makes the lock of the one that has waited the newest hold.
func (c *cell) nextHas() {
	next := <-c.behind
	if err := c.takes(next.lock, next.err); err != nil {
		c.fault("the next one: %v", err)
	}
}

// nextHasNot checks that the one that has waited has given up.
func (c *cell) nextHasNot() {
	if next := <-c.behind; next.err == nil {
		c.fault("the next one has given up, and has the lock")
	} else if !errors.Is(next.err, context.Canceled) {
		c.fault("the next one has given up: %v", next.err)
	}
}

// carries reports whether a request is one of a Release that gives its keys to somebody, or a later try of it.
func carries(c *cell, r *request) bool {
	late := c.network.late
	return r.gives && late == nil || late != nil && r.script == "release" && common(r.tokens, late.tokens)
}

// lateCarrying is a Release that gives the keys to the next Obtain of its Client.
func lateCarrying(ctx context.Context, c *cell) error {
	c.queues(c.t.Context())
	return c.release(ctx)
}

// lateCarryingInVain is one whose next Obtain gives up as soon as the request is sent.
func lateCarryingInVain(ctx context.Context, c *cell) error {
	brief, stop := c.endsWhen(c.t.Context(), func() bool {
		kept, _ := c.network.isKept()
		return kept
	})
	defer stop()
	c.queues(brief)
	return c.release(ctx)
}

// lateRenewalAndNext is a renewal of a hold, which is the next one's when the renewal arrives.
func lateRenewalAndNext(ctx context.Context, c *cell) error {
	if err := c.awaitsRenewal(); err != nil {
		return err
	}
	c.queues(c.t.Context())
	return c.release(ctx)
}

// passedOn obtains a hold, and passes it on.
func (c *cell) passedOn(ctx context.Context) error {
	if err := c.takes(c.main.Obtain(ctx, c.keys, firstTTL, c.localOptions())); err != nil {
		return err
	}
	c.queues(ctx)
	before, _ := c.network.traffic()
	if err := c.release(ctx); err != nil {
		return err
	}
	c.nextHas()
	if after, _ := c.network.traffic(); after != before {
		c.network.void("the hold was not passed on")
	}
	return nil
}

func init() {
	operations['C'] = &operation{name: "Release, and the next one", lessens: true, frees: true, run: func(ctx context.Context, c *cell) error {
		c.queues(ctx)
		if err := c.release(ctx); err != nil {
			return err
		}
		c.nextHas()
		return nil
	}}
}

// TestMatrixLocal runs the cells in which a Release gives the keys to somebody, and those in which a renewal comes late to a hold that
// was passed on meanwhile. Of those in which the next one gives up some fail without guards.
func TestMatrixLocal(t *testing.T) {
	if fips140.Enforced() {
		t.Skip("see TestMatrixSample")
	}
	t.Parallel()
	rows := slices.DeleteFunc(localRows(), func(r *row) bool { return r.size == 1 || r.fenced || r.late == nil && r.run == nil })
	ids := cellsOf(rows)
	t.Logf("%d cells", len(ids))
	show(t, runCells(t, ids))
	rows = slices.DeleteFunc(rows, func(r *row) bool { return r.harmless != "" || r.code != 'r' })
	wantRowsToFail(t, rows, runCells(t, cellsOf(rows), unguarded))
}
