package api_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
	"github.com/seed-14de3678/redislock/multi"
	"github.com/seed-14de3678/redislock/quorum"
	"github.com/seed-14de3678/redislock/reentrant"
)

// What is printed of a lock that is none, of one that was lost, and of one of which little is known.
func TestPrintOthers(t *testing.T) {
	t.Parallel()
	world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
		var none *redislock.Lock
		lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a"), time.Second, nil))
		held := lock.Context(context.Background())
		many := make([]string, 11)
		for i := range many {
			many[i] = w.Key(fmt.Sprint(i))
		}
		large := check.Must[*redislock.Lock](t)(w.Client.ObtainRead(t.Context(), many, time.Second, nil))
		for want, lock := range map[string]any{
			"no lock": none, "no lock ": (*quorum.Lock)(nil), "no lock  ": (*multi.Lock)(nil), "no lock   ": (*reentrant.Hold)(nil),
			"keys " + fmt.Sprintf("%q", w.Key("x")) + ", time left not known": w.Client.Attach(w.Keys("x"), "t"),
			fmt.Sprintf("%q and 3 more, 988ms left", many[7]):                 large,
		} {
			if got := fmt.Sprint(lock); !strings.HasSuffix(got, strings.TrimSpace(want)) {
				t.Errorf("got %s, want %s", got, want)
			}
		}
		for want, lock := range map[string]slog.LogValuer{
			"no lock": none,
			fmt.Sprintf("[keys=[%s] state=time left not known]", w.Key("x")): w.Client.Attach(w.Keys("x"), "t"),
			fmt.Sprintf("[write=[%s] state=988ms left]", w.Key("a")):         lock,
			fmt.Sprintf("[read=%v more_read=3 state=988ms left]", many[:8]):  large,
		} {
			if got := lock.LogValue().String(); got != want {
				t.Errorf("logged %s, want %s", got, want)
			}
		}
		<-held.Done()
		if got, want := fmt.Sprint(lock), "write "+fmt.Sprintf("%q", w.Key("a"))+", lost"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		time.Sleep(time.Second)
		if got := fmt.Sprint(large); !strings.HasSuffix(got, ", time over") {
			t.Errorf("got %s", got)
		}
	})
}

// A lock that was downgraded is printed as one to read, and after an Upgrade as one to write again, with a greater number.
func TestPrintConverted(t *testing.T) {
	world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
		lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a"), time.Second, world.Fenced()))
		first := lock.Fence()
		for _, c := range []struct {
			convert func(context.Context) error
			mode    string
		}{{lock.Downgrade, "read"}, {lock.Upgrade, "write"}} {
			check.NoError(t, c.convert(t.Context()))
			if got, want := fmt.Sprint(lock), fmt.Sprintf("%s %q, 988ms left", c.mode, w.Key("a")); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
		if lock.Fence() <= first {
			t.Errorf("got number %d after %d, want a greater one", lock.Fence(), first)
		}
	})
}
