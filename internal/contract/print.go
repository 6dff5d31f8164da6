package contract

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/seed-14de3678/redislock/held"
	"github.com/seed-14de3678/redislock/internal/check"
)

// printed returns a value as programs print it, by the way of printing.
func printed(of any) map[string]string {
	ways := map[string]string{"slog": logged(of, false), "slog as JSON": logged(of, true)}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		ways[verb] = fmt.Sprintf(verb, of)
	}
	for way, text := range ways {
		ways[way] = strings.ReplaceAll(text, `\"`, `"`)
	}
	return ways
}

func logged(of any, asJSON bool) string {
	var b bytes.Buffer
	var handler slog.Handler = slog.NewTextHandler(&b, nil)
	if asJSON {
		handler = slog.NewJSONHandler(&b, nil)
	}
	slog.New(handler).Info("held", "lock", of)
	return b.String()
}

// tokens returns the tokens under which a key is held.
func (r *rig) tokens(t *testing.T, key string) (tokens []string) {
	t.Helper()
	for _, server := range r.Servers {
		token, _, _ := strings.Cut(check.Must[string](t)(server.Get(t.Context(), key).Result()), "|")
		if len(token) < 20 {
			t.Fatalf("%q holds no token: %q", key, token)
		}
		tokens = append(tokens, token)
	}
	return tokens
}

// prints checks the text of a lock: its keys, their modes, and for how long it is certain, even while it is renewed.
// The text never has the token; nor has the text of a Client.
func prints(t *testing.T, m Maker) {
	t.Helper()
	m.in(t, "a lock never shows its token", func(t *testing.T, r *rig) {
		lock := r.obtain(t, long, watched)
		secrets := r.tokens(t, "a")
		var renewing sync.WaitGroup
		renewing.Go(func() { check.NoError(t, lock.Refresh(t.Context(), long)) })
		for way, text := range printed(lock) {
			wantSecret(t, way, text, secrets)
			wants := []string{"59s left"}
			if strings.HasPrefix(way, "%") {
				wants = append(wants, `write "a", "b"; read "c", `)
			}
			if way == "%#v" {
				wants = append(wants, fmt.Sprintf("%T(", lock))
			}
			for _, want := range wants {
				if !strings.Contains(text, want) {
					t.Errorf("%s: got %s, want %q in it", way, text, want)
				}
			}
		}
		renewing.Wait()
		check.NoError(t, lock.Release(t.Context()))
		wantSuffix(t, lock, ", released")
	})
	m.in(t, "how it has ended", func(t *testing.T, r *rig) {
		lock := r.obtain(t, short, nil)
		held := lock.Context(t.Context())
		lost := lock.Lost()
		<-held.Done()
		<-lost
		wantSuffix(t, lock, ", lost")
		_ = lock.Release(t.Context())
	})
	m.in(t, "a Client never shows a token", func(t *testing.T, r *rig) {
		lock := r.obtain(t, long, watched)
		secrets := r.tokens(t, "a")
		for _, client := range r.Clients {
			for way, text := range printed(client) {
				wantSecret(t, way, text, secrets)
			}
		}
		check.NoError(t, lock.Release(t.Context()))
	})
}

// wantSecret checks that a text has none of the tokens.
func wantSecret(t *testing.T, way, text string, tokens []string) {
	t.Helper()
	for _, token := range tokens {
		if strings.Contains(text, token) {
			t.Errorf("%s shows the token: %s", way, text)
		}
	}
}

func wantSuffix(t *testing.T, lock held.Lock, suffix string) {
	t.Helper()
	if got := fmt.Sprint(lock); !strings.HasSuffix(got, suffix) {
		t.Errorf("got %s, want it to end with %q", got, suffix)
	}
}
