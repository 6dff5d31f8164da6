package world

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// single starts a world of one server.
func single(t *testing.T) *world {
	t.Helper()
	w, ok := Start(t, Single, redistest.Redis).(*world)
	if !ok {
		t.Fatal("it is another world")
	}
	return w
}

// A world that cannot be healed says why.
func TestHealInVain(t *testing.T) {
	t.Parallel()
	w := single(t)
	w.patience = time.Second
	if err := w.Heal(); err != nil {
		t.Errorf("all is well: got %v", err)
	}
	w.hosts[0].Stop()
	if err := w.Heal(); err == nil || !strings.Contains(err.Error(), "already stopped for good") {
		t.Errorf("without the server: got %v", err)
	}
}

// A script that does not end is ended, also if it begins late because writes pause.
func TestBusyScriptInAPause(t *testing.T) {
	t.Parallel()
	w := single(t)
	h, ended := w.hosts[0], make(chan error, 1)
	check.NoError(t, h.do("CLIENT", "PAUSE", 700, "WRITE"))
	go func() { ended <- w.busyScript(h, rand.New(rand.NewPCG(1, 1)), 100*time.Millisecond) }() //nolint:gosec // it is no secret
	select {
	case err := <-ended:
		check.NoError(t, err)
	case <-time.After(20 * time.Second):
		t.Error("it runs still")
	}
	check.NoError(t, h.do("PING"))
}

// What would fail the test is an error once the servers run; what is not from here stays a panic.
func TestReporter(t *testing.T) {
	t.Parallel()
	r := &reporter{TB: t}
	r.run()
	for name, fail := range map[string]func(){
		"first": func() { r.Error("the ", "first") }, "second": func() { r.Errorf("the %s", "second") },
		"third": func() { r.Fatal("the ", "third") }, "fourth": func() { r.Fatalf("the %s", "fourth") },
	} {
		err := r.try(func() error { fail(); return nil })
		if err == nil || err.Error() != "the "+name {
			t.Errorf("%s: got %v", name, err)
		}
		if err := r.try(func() error { return nil }); err != nil {
			t.Errorf("%s: told twice: %v", name, err)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("the panic of somebody else was swallowed")
		}
	}()
	_ = r.try(func() error { panic("of somebody else") })
}
