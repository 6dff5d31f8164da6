package multi_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/multi"
)

// Checks that most tests of this package use.
var (
	noError    = check.NoError
	wantIs     = check.Is
	eventually = check.Eventually
)

func must[T any](t *testing.T) func(T, error) T {
	t.Helper()
	return check.Must[T](t)
}

func TestMain(m *testing.M) { redistest.Main(m) }

const (
	long = time.Minute      // a ttl that does not end within a test
	soon = 20 * time.Second // longer than anything takes that has to come

	longest = 2 * time.Minute // after which a context ends that no test has ended
)

// bounded is the context of a test, with an end: a defect fails the test that shows it, and does not hang
// the package.
func bounded(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), longest)
	t.Cleanup(cancel)
	return ctx
}

// receive waits for what has to come, and ends the test if it does not.
func receive[T any](t *testing.T, values <-chan T) T {
	t.Helper()
	timer := time.NewTimer(longest)
	defer timer.Stop()
	select {
	case value := <-values:
		return value
	case <-timer.C:
		t.Fatal("nothing has come")
		panic("not reached")
	}
}

// waitFor waits until all of a group are done, and ends the test if they are not.
func waitFor(t *testing.T, group *sync.WaitGroup) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		group.Wait()
		close(done)
	}()
	receive(t, done)
}

// A world is what one scenario has: three Clients of one server, each with a place of its own, as
// if there were three servers. What happens to their locks is noted.
type world struct {
	rdb     *redis.Client
	clients []*redislock.Client
	prefix  string
	virtual bool // in a bubble: no answer takes any time

	mu     sync.Mutex
	events []string // such as "released b"
}

// worlds gives each run of a test a number: the shared servers keep what it leaves.
var worlds atomic.Int64

func newWorld(t *testing.T, b redistest.Backend) *world {
	t.Helper()
	w := &world{rdb: b.Client(t), prefix: fmt.Sprintf("%s#%d:", t.Name(), worlds.Add(1))}
	for range 3 {
		w.clients = append(w.clients, w.newClient(t, w.rdb))
	}
	return w
}

func (w *world) newClient(t *testing.T, rdb redis.Scripter) *redislock.Client {
	t.Helper()
	note := func(what string) func(context.Context, redislock.Event) {
		return func(_ context.Context, e redislock.Event) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.events = append(w.events, what+" "+strings.TrimPrefix(e.Keys[0], w.prefix))
		}
	}
	client := redislock.New(rdb, redislock.WithHooks(redislock.Hooks{
		Obtained: note("obtained"), Refused: note("refused"), Refreshed: note("refreshed"), Released: note("released"),
	}))
	t.Cleanup(client.Close)
	return client
}

// saw counts what has happened, without taking it.
func (w *world) saw(event string) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.events {
		if e == event {
			n++
		}
	}
	return n
}

// took returns what has happened since it was last called.
func (w *world) took() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	events := w.events
	w.events = nil
	return events
}

func (w *world) key(name string) string { return w.prefix + name }

// part makes one of the three places the part of some keys; the place "c" comes last.
func (w *world) part(place int, names ...string) multi.Part {
	p := multi.Part{Client: w.clients[place], Place: string(rune('a' + place))}
	for _, name := range names {
		p.Write = append(p.Write, w.key(name))
	}
	return p
}

// abc are three parts of one key each, in an order that is not that of their places.
func (w *world) abc() []multi.Part {
	return []multi.Part{w.part(2, "c"), w.part(0, "a"), w.part(1, "b")}
}

// wantFree checks that none of the keys exists.
func (w *world) wantFree(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		if n := must[int64](t)(w.rdb.Exists(bounded(t), w.key(name)).Result()); n != 0 {
			t.Errorf("key %q is there, want it free", name)
		}
	}
}

// wantSoonFree waits until the keys are free, which a Client sees to by itself.
func (w *world) wantSoonFree(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		eventually(t, soon, name+" is free", func() bool {
			return must[int64](t)(w.rdb.Exists(bounded(t), w.key(name)).Result()) == 0
		})
	}
}

func (w *world) wantHeld(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		if n := must[int64](t)(w.rdb.Exists(bounded(t), w.key(name)).Result()); n != 1 {
			t.Errorf("key %q is free, want it held", name)
		}
	}
}

// block has somebody else hold keys.
func (w *world) block(t *testing.T, ttl time.Duration, names ...string) *redislock.Lock {
	t.Helper()
	keys := make([]string, len(names))
	for i, name := range names {
		keys[i] = w.key(name)
	}
	return must[*redislock.Lock](t)(redislock.New(w.rdb).Obtain(bounded(t), keys, ttl, &redislock.Options{Metadata: "other"}))
}

// scenario runs fn on every kind of server.
func scenario(t *testing.T, fn func(t *testing.T, w *world)) {
	t.Helper()
	t.Parallel()
	redistest.Each(t, func(t *testing.T, b redistest.Backend) { fn(t, newWorld(t, b)) })
}

// bubble runs fn in a bubble of testing/synctest, with a server that uses the clock of the bubble.
func bubble(t *testing.T, fn func(t *testing.T, w *world)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, redistest.PipeMini(t))
		w.virtual = true
		fn(t, w)
	})
}

// ordered runs fn on every kind of server, and in a bubble, where parts are released in order.
func ordered(t *testing.T, fn func(t *testing.T, w *world)) {
	t.Helper()
	scenario(t, fn)
	t.Run("in virtual time", func(t *testing.T) { bubble(t, fn) })
}

// wantTook checks what has happened since then, and in which order. In real time parts that are released one after the other
// may be so in any order: a part that takes long lets those before it have their turn, and on a busy machine each can take
// long. In a bubble none does.
func (w *world) wantTook(t *testing.T, want ...string) {
	t.Helper()
	got := w.took()
	if !w.virtual {
		want = slices.Clone(want)
		sortReleases(got)
		sortReleases(want)
	}
	wantEvents(t, got, want)
}

// sortReleases sorts each row of events that are releases.
func sortReleases(events []string) {
	isRelease := func(i int) bool { return i < len(events) && strings.HasPrefix(events[i], "released ") }
	for from := 0; from < len(events); {
		till := from + 1
		for isRelease(from) && isRelease(till) {
			till++
		}
		slices.Sort(events[from:till])
		from = till
	}
}

func wantNot(t *testing.T, err error, targets ...error) {
	t.Helper()
	for _, target := range targets {
		if errors.Is(err, target) {
			t.Fatalf("got error %v, want none that is %v", err, target)
		}
	}
}

// wantConflict checks that the error is a conflict on a key, and names its part.
func wantConflict(t *testing.T, err error, key, part string) {
	t.Helper()
	var conflict *redislock.ConflictError
	if !errors.As(err, &conflict) || !errors.Is(err, redislock.ErrNotObtained) || errors.Is(err, redislock.ErrUnknownOutcome) {
		t.Fatalf("got error %v, want a conflict", err)
	}
	if conflict.Key != key || conflict.Metadata != "other" || !strings.Contains(err.Error(), part) {
		t.Fatalf("got %v, want a conflict on %q, held by other, in %s", err, key, part)
	}
}

func wantEvents(t *testing.T, got, want []string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}
