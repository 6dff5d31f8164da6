package api_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
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

// printed returns a lock as programs print it, by the way in which they do.
func printed(lock any) map[string]string {
	ways := map[string]string{"slog": logged(lock, false), "slog as JSON": logged(lock, true)}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		ways[verb] = fmt.Sprintf(verb, lock)
	}
	return ways
}

func logged(lock any, asJSON bool) string {
	var b bytes.Buffer
	var handler slog.Handler = slog.NewTextHandler(&b, nil)
	if asJSON {
		handler = slog.NewJSONHandler(&b, nil)
	}
	slog.New(handler).Info("held", "lock", lock)
	return b.String()
}

// A printed lock says its keys, their modes and how long it is certain, and never its token. It may be printed while it is
// renewed.
func TestPrint(t *testing.T) {
	t.Parallel()
	world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
		ctx := reentrant.NewOwner(t.Context())
		servers := check.Must[*quorum.Client](t)(quorum.New([]*redislock.Client{world.NewClient(t, w.RDB)}))
		defer servers.Close()
		opt := &redislock.Options{Watchdog: true}
		write, read := w.Keys("a", "b"), w.Keys("c")
		for name, obtain := range map[string]func() (redislock.Held, error){
			"*redislock.Lock": func() (redislock.Held, error) { return w.Client.ObtainMixed(ctx, write, read, time.Minute, opt) },
			"*quorum.Lock":    func() (redislock.Held, error) { return servers.ObtainMixed(ctx, write, read, time.Minute, opt) },
			"*multi.Lock": func() (redislock.Held, error) {
				return multi.Obtain(ctx, []multi.Part{{Client: w.Client, Write: write, Read: read}}, time.Minute, opt)
			},
			"*reentrant.Hold": func() (redislock.Held, error) {
				return reentrant.ObtainMixed(ctx, w.Client, write, read, time.Minute, &redislock.Options{Watchdog: true})
			},
		} {
			lock := check.Must[redislock.Held](t)(obtain())
			secret, _, _ := strings.Cut(check.Must[string](t)(w.RDB.Get(ctx, write[0]).Result()), "|")
			var renewing sync.WaitGroup
			renewing.Go(func() { check.NoError(t, lock.Refresh(ctx, time.Minute)) })
			for way, text := range printed(lock) {
				text = strings.ReplaceAll(text, `\"`, `"`)
				if strings.Contains(text, secret) {
					t.Errorf("%s by %s has the token: %s", name, way, text)
				}
				wants := []string{"59s left"}
				if strings.HasPrefix(way, "%") {
					wants = append(wants, fmt.Sprintf(`write %q, %q; read %q, `, write[0], write[1], read[0]))
				}
				if way == "%#v" {
					wants = append(wants, name+"(")
				}
				for _, want := range wants {
					if !strings.Contains(text, want) {
						t.Errorf("%s by %s: got %s, want %q in it", name, way, text, want)
					}
				}
			}
			renewing.Wait()
			check.NoError(t, lock.Release(ctx))
			if got := fmt.Sprint(lock); !strings.HasSuffix(got, ", released") {
				t.Errorf("%s: got %s", name, got)
			}
		}
	})
}

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
