package quorum_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/quorum"
)

// wantNodeErrors checks which nodes an error names, if that is certain, that the first of them is found by errors.As, and
// that the text has what each of them says.
func wantNodeErrors(t *testing.T, what string, err error, want ...int) []*quorum.NodeError {
	t.Helper()
	all := quorum.NodeErrors(err)
	var got []int
	for _, e := range all {
		got = append(got, e.Node)
		if e.Err == nil || !strings.Contains(err.Error(), "; "+e.Error()) {
			t.Errorf("%s: %q does not say %q", what, err, e)
		}
	}
	if len(want) > 0 && fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s: got errors of the nodes %v, want %v; of %v", what, got, want, err)
	}
	var first *quorum.NodeError
	if errors.As(err, &first) && (len(all) == 0 || first != all[0]) || !errors.As(err, &first) && len(want) > 0 {
		t.Errorf("%s: errors.As finds %v", what, first)
	}
	return all
}

// Each error of an operation that failed at nodes says what each of these has said, and stays one fact.
func TestNodeErrors(t *testing.T) {
	t.Parallel()
	w := &world{}
	var minis []*redistest.Mini
	for range 3 {
		minis = append(minis, redistest.StartMini(t))
		w.add(t, minis[len(minis)-1])
	}
	w.client = w.newClient(t)

	w.block(t, "k", long, 0, 2)
	_, err := w.client.Obtain(bounded(t), []string{"k"}, long, nil)
	wantOnly(t, err, redislock.ErrNotObtained)
	var refused []int
	for _, e := range wantNodeErrors(t, "obtain", err) { // also that of node 1, if it has not answered by then
		if conflict, ok := errors.AsType[*redislock.ConflictError](e); ok && conflict.Metadata == "other" {
			refused = append(refused, e.Node)
		}
	}
	if fmt.Sprint(refused) != "[0 2]" {
		t.Errorf("there are conflicts at %v, want those of nodes 0 and 2; in %v", refused, err)
	}

	lock := must[*quorum.Lock](t)(w.client.Obtain(bounded(t), []string{"l"}, long, nil))
	wantNodes(t, lock, 3)
	minis[1].Miniredis().SetError("NOPERM no")
	for _, i := range []int{0, 2} {
		noError(t, w.rdbs[i].Del(t.Context(), "l").Err())
	}
	_, err = lock.TTL(bounded(t))
	wantNodeErrors(t, "ttl", err, 0, 1, 2)
	minis[0].Miniredis().SetError("NOPERM no")
	minis[2].Miniredis().SetError("NOPERM no")
	err = lock.Refresh(bounded(t), long)
	said := 0 // the one that comes last is not waited for
	for _, e := range wantNodeErrors(t, "refresh", err, 0, 1, 2) {
		if _, ok := errors.AsType[redis.Error](e); ok {
			said++
		}
	}
	if said < 2 {
		t.Errorf("got error %v, want that of two servers at least", err)
	}
	for _, mini := range minis {
		mini.Miniredis().SetError("")
	}
	err = lock.Release(bounded(t))
	wantOnly(t, err, redislock.ErrLockNotHeld)
	wantNodeErrors(t, "release", err)

	_, err = w.client.Obtain(bounded(t), nil, long, nil)
	wantIs(t, err, &redislock.InvalidError{Argument: "keys"})
	if quorum.NodeErrors(nil) != nil || quorum.NodeErrors(redislock.ErrNotObtained) != nil {
		t.Error("there are nodes in the error of somebody else")
	}
}

// A node that has not answered is there as well, and does not make a loss of it, nor an unknown outcome.
func TestNodeErrorsOfTheSilent(t *testing.T) {
	t.Parallel()
	w := relayedWorld(t, 3)
	w.warmUp(t)
	w.block(t, "k", long, 0, 1)
	w.hold(2)
	again := redislock.LimitRetry(redislock.LinearBackoff(10*time.Millisecond), 20)
	_, err := w.client.Obtain(bounded(t), []string{"k"}, long, &redislock.Options{RetryStrategy: again})
	w.release(2)
	wantOnly(t, err, redislock.ErrNotObtained)
	wantNodeErrors(t, "obtain", err, 0, 1, 2)
}
