package fencing_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/seed-14de3678/redislock/fencing"
)

func TestHeader(t *testing.T) {
	t.Parallel()
	h := http.Header{}
	fencing.SetHeader(h, 1)
	fencing.SetHeader(h, base)
	got, err := fencing.FromHeader(h)
	if got != base || err != nil {
		t.Errorf("got %d, %v, want %d", got, err, int64(base))
	}
	fencing.SetHeader(h, 0) // a lock that is not fenced
	_, err = fencing.FromHeader(h)
	wantIs(t, err, fencing.ErrInvalidNumber)
}

func TestFromHeaderRefuses(t *testing.T) {
	t.Parallel()
	for name, values := range map[string][]string{
		"none":       nil,
		"empty":      {""},
		"two":        {"5", "5"},
		"a list":     {"5, 6"},
		"zero":       {"0"},
		"negative":   {"-5"},
		"a sign":     {"+5"},
		"zero first": {"05"},
		"hex":        {"0x5"},
		"a fraction": {"5.0"},
		"a space":    {" 5"},
		"underscore": {"5_000"},
		"not exact":  {"9007199254740992"},
		"too great":  {"9223372036854775808"},
		"text":       {strings.Repeat("five", 1000)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := fencing.FromHeader(http.Header{fencing.Header: values})
			wantIs(t, err, fencing.ErrInvalidNumber)
			if got != 0 {
				t.Errorf("got %d", got)
			}
			if err != nil && len(err.Error()) > 200 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
		})
	}
}

func FuzzFromHeader(f *testing.F) {
	for _, seed := range []string{"1", "1760000000000001", "9007199254740991", "-1", "007", "1e3", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		h := http.Header{}
		h.Set(fencing.Header, text)
		number, err := fencing.FromHeader(h)
		if err != nil {
			wantIs(t, err, fencing.ErrInvalidNumber)
			return
		}
		if number < 1 || number >= 1<<53 || strconv.FormatInt(number, 10) != text {
			t.Errorf("%q is taken for %d", text, number)
		}
	})
}

// put is a request that carries a number; none if it is empty.
func put(ctx context.Context, path, number string) *http.Request {
	r := httptest.NewRequestWithContext(ctx, http.MethodPut, path, http.NoBody)
	if number != "" {
		r.Header.Set(fencing.Header, number)
	}
	return r
}

func pathOf(r *http.Request) string { return r.URL.Path }

func TestGuardHandler(t *testing.T) {
	t.Parallel()
	var g fencing.Guard
	calls := 0
	handler := g.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls++
		w.WriteHeader(http.StatusAccepted)
	}), pathOf)
	for i, step := range []struct {
		path, number string
		want         int
		body         string
	}{
		{"/a", "7", http.StatusAccepted, ""},
		{"/a", "7", http.StatusAccepted, ""},
		{"/a", "6", http.StatusConflict, `stale number 6 for "/a": it has seen 7`},
		{"/b", "6", http.StatusAccepted, ""},
		{"/a", "", http.StatusBadRequest, "0 header fields Fencing-Number"},
		{"/a", "eight", http.StatusBadRequest, `"eight"`},
		{"/a", "8", http.StatusAccepted, ""},
	} {
		before := calls
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, put(t.Context(), step.path, step.number))
		if w.Code != step.want || !strings.Contains(w.Body.String(), step.body) {
			t.Errorf("step %d: got %d %q, want %d %q", i, w.Code, w.Body, step.want, step.body)
		}
		if called := calls > before; called != (step.want == http.StatusAccepted) {
			t.Errorf("step %d: next was called: %t", i, called)
		}
	}
}

// While a request runs, others for its resource wait, and can be abandoned.
func TestGuardHandlerHolds(t *testing.T) {
	t.Parallel()
	var g fencing.Guard
	var handler http.Handler
	serve := func(ctx context.Context, path string) int {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, put(ctx, path, "7"))
		return w.Code
	}
	handler = g.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/a" {
			return
		}
		ctx, cancel := context.WithCancel(r.Context())
		cancel()
		_, _ = fmt.Fprint(w, serve(ctx, "/a"), serve(r.Context(), "/b"))
	}), pathOf)
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, put(t.Context(), "/a", "7"))
	if got, want := w.Body.String(), "503 200"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
