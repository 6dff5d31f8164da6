package world

import (
	"context"
	"slices"
	"testing"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// InTurn runs a scenario of a line on real servers, and on a miniredis where time passes only when nothing else can
// happen: there, a turn that takes any time at all was not handed over. The waiters are in the same Client as the
// holders, or (other) in another one: then they learn of their turn by a message, and not from a reply.
func InTurn(t *testing.T, fn func(t *testing.T, w, other *World)) {
	t.Helper()
	both := func(t *testing.T, b redistest.Backend) {
		t.Helper()
		w := New(t, b)
		fn(t, w, w)
		w = New(t, b)
		o := &World{RDB: b.Client(t), Prefix: w.Prefix}
		o.Client = redislock.New(o.RDB)
		t.Cleanup(o.Client.Close)
		fn(t, w, o)
	}
	t.Run("bubble", func(t *testing.T) {
		Bubble(t, func(t *testing.T, _ *World, mini *redistest.Mini, _ *Journal) { both(t, mini) })
	})
	redistest.EachServer(t, func(t *testing.T, kind redistest.Kind) {
		both(t, redistest.Shared(t, kind))
	})
}

// A Part names a waiter by the keys that it wants, each of one letter: a capital letter is a key that it writes.
type Part = string

// Modes returns the keys that a waiter wants to write, and the keys that it wants to read.
func (w *World) Modes(p Part) (write, read []string) {
	for _, r := range p {
		if key := string(r); r < 'a' {
			write = append(write, w.Key(string(r-'A'+'a')))
		} else {
			read = append(read, w.Key(key))
		}
	}
	return write, read
}

// StandWith has a waiter stand in line for a part, by itself, under a name and with options of its own.
func (w *World) StandWith(ctx context.Context, t *testing.T, turns chan<- Turn, who string, p Part, opt *redislock.Options) {
	t.Helper()
	write, read := w.Modes(p)
	key := append(slices.Clone(write), read...)[0]
	n := len(check.Must[[]redislock.KeyState](t)(w.Client.Inspect(t.Context(), []string{key}))[0].Line)
	go func() {
		lock, err := w.Client.ObtainSet(Apart(ctx), redislock.Set{Write: write, Read: read}, Long, opt)
		turns <- Turn{who, lock, err}
	}()
	w.InLine(t, key, n+1)
}
