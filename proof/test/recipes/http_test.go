package recipes_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-14de3678/redislock/locktest"
)

// ask has a request for order 7 answered, and returns the answer with the time that it took.
func ask(ctx context.Context, server *locktest.Server, change func(*http.Request) error) (*httptest.ResponseRecorder, time.Duration) {
	request, answer := httptest.NewRequest(http.MethodPost, "/orders/7", nil), httptest.NewRecorder()
	request.SetPathValue("order", "7")
	began := time.Now()
	changeOrder(server.Client(), change)(answer, request.WithContext(ctx))
	return answer, time.Since(began)
}

// untilEnd changes an order until the context of the request ends.
func untilEnd(_ *locktest.Server, r *http.Request) error {
	select {
	case <-r.Context().Done():
	case <-time.After(time.Minute):
	}
	return r.Context().Err()
}

// An asking is a request, and what it is to be told.
type asking struct {
	before func(*locktest.Server)                      // what is done first; nil: nothing
	within time.Duration                               // the time that the server allows; 0: any
	change func(*locktest.Server, *http.Request) error // nil: it is not to begin
	want   int
	most   time.Duration // until the answer
}

var askings = map[string]asking{
	"free": {
		change: func(*locktest.Server, *http.Request) error { return nil },
		want:   http.StatusNoContent, most: 100 * time.Millisecond,
	},
	"the change fails": {
		change: func(*locktest.Server, *http.Request) error { return errors.New("no such order") },
		want:   http.StatusInternalServerError, most: 100 * time.Millisecond,
	},
	"busy": {
		before: func(s *locktest.Server) { s.Hold("lock:order:7") },
		want:   http.StatusConflict, most: 100 * time.Millisecond,
	},
	"Redis cannot be reached": {
		before: func(s *locktest.Server) { s.Away() },
		want:   http.StatusServiceUnavailable, most: 1100 * time.Millisecond,
	},
	"Redis does not answer": {
		before: func(s *locktest.Server) { s.Drop(locktest.Obtain).Always() },
		want:   http.StatusServiceUnavailable, most: 1100 * time.Millisecond,
	},
	"Redis is slow": {
		before: func(s *locktest.Server) { s.Delay(locktest.Obtain, time.Hour) },
		want:   http.StatusServiceUnavailable, most: 1100 * time.Millisecond,
	},
	"the lock is lost": {
		change: func(s *locktest.Server, r *http.Request) error {
			s.Expire("lock:order:7")
			return untilEnd(s, r)
		},
		want: http.StatusInternalServerError, most: 10 * time.Second,
	},
	"the lock is lost unnoticed": {
		change: func(s *locktest.Server, r *http.Request) error {
			s.Expire("lock:order:7")
			_ = untilEnd(s, r)
			return nil
		},
		want: http.StatusInternalServerError, most: 10 * time.Second,
	},
	"the request ends": {
		within: 300 * time.Millisecond, change: untilEnd,
		want: http.StatusGatewayTimeout, most: 300 * time.Millisecond,
	},
	"the request ends before Redis answers": {
		before: func(s *locktest.Server) { s.Delay(locktest.Obtain, time.Hour) }, within: 300 * time.Millisecond,
		want: http.StatusGatewayTimeout, most: 400 * time.Millisecond,
	},
}

// What a request is told, and how soon. Nothing is left locked after any of them: locktest looks.
func TestChangeOrderAnswers(t *testing.T) {
	t.Parallel()
	for name, c := range askings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server := locktest.New(t)
				if c.before != nil {
					c.before(server)
				}
				ctx := t.Context()
				if c.within > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, c.within)
					defer cancel()
				}
				answer, took := ask(ctx, server, func(r *http.Request) error {
					if c.change == nil {
						t.Error("the change has begun")
						return nil
					}
					return c.change(server, r)
				})
				if answer.Code != c.want || took > c.most {
					t.Errorf("got %d after %v, want %d after %v", answer.Code, took, c.want, c.most)
				}
				if got := answer.Header().Get("Retry-After"); (got == "1") != (c.want == http.StatusConflict) {
					t.Errorf("got Retry-After %q", got)
				}
			})
		})
	}
}

// A caller that hangs up ends the change, and the order is free for the next request. All of it is in memory, and so in virtual
// time: the handler waits a second for Redis.
func TestChangeOrderCallerLeaves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := locktest.New(t)
		ctx, hangUp := context.WithCancel(t.Context())
		ended, over := make(chan error, 1), make(chan struct{})
		handler := changeOrder(server.Client(), func(r *http.Request) error {
			hangUp()
			err := untilEnd(server, r)
			ended <- err
			return err
		})
		mux := http.NewServeMux()
		mux.HandleFunc("POST /orders/{order}", func(w http.ResponseWriter, r *http.Request) {
			defer close(over)
			handler(w, r)
		})
		web := inMemory(t, mux)
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://shop/orders/7", nil)
		if err != nil {
			t.Fatal(err)
		}
		if answer, err := web.Do(request); err == nil {
			_ = answer.Body.Close()
			t.Errorf("got %d, although the caller has left", answer.StatusCode)
		}
		<-over
		select {
		case err := <-ended:
			if !errors.Is(err, context.Canceled) {
				t.Errorf("the change ended with %v", err)
			}
		default:
			t.Error("the change was not begun")
		}
		if answer, _ := ask(t.Context(), server, func(*http.Request) error { return nil }); answer.Code != http.StatusNoContent {
			t.Errorf("got %d of the next request", answer.Code)
		}
	})
}

// inMemory serves HTTP to a client without a network.
func inMemory(t *testing.T, handler http.Handler) *http.Client {
	t.Helper()
	listener := pipes{make(chan net.Conn), make(chan struct{})}
	web := &http.Server{Handler: handler}
	go func() { _ = web.Serve(listener) }()
	transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		listener.dialled <- theirs
		return ours, nil
	}}
	t.Cleanup(func() { _ = web.Close() })
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// pipes listens for connections in memory.
type pipes struct {
	dialled chan net.Conn
	closed  chan struct{}
}

func (p pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.dialled:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p pipes) Close() error {
	close(p.closed)
	return nil
}

func (pipes) Addr() net.Addr { return &net.TCPAddr{} }
