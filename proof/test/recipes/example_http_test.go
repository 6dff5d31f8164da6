package recipes_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/locktest"
)

// changeOrder has an order changed by one request at a time.
func changeOrder(client *redislock.Client, change func(*http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		began, lock := false, []string{"lock:order:" + r.PathValue("order")}
		opt := &redislock.Options{RetryStrategy: redislock.NoRetry(), Wait: time.Second} // for Redis to answer
		err := client.With(r.Context(), lock, 10*time.Second, opt, func(ctx context.Context) error {
			began = true
			return change(r.WithContext(ctx)) // its context ends if the lock is lost
		})
		status := http.StatusServiceUnavailable // of Redis
		switch {
		case err == nil:
			status = http.StatusNoContent
		case r.Context().Err() != nil: // nobody waits any more
			status = http.StatusGatewayTimeout
		case began: // also if the lock was lost
			status = http.StatusInternalServerError
		case errors.As(err, new(*redislock.ConflictError)):
			w.Header().Set("Retry-After", "1") // s
			status = http.StatusConflict
		}
		w.WriteHeader(status)
	}
}

// A request changes nothing while somebody else changes the order.
func TestChangeOrderBusy(t *testing.T) {
	t.Parallel()
	server := locktest.New(t)
	server.Hold("lock:order:7")
	request, answer := httptest.NewRequest(http.MethodPost, "/", nil), httptest.NewRecorder()
	request.SetPathValue("order", "7")
	changeOrder(server.Client(), func(*http.Request) error {
		t.Error("the order was changed")
		return nil
	})(answer, request)
	if answer.Code != http.StatusConflict {
		t.Errorf("got %d", answer.Code)
	}
}

// A server changes an order.
func Example_http() {
	rdb, stop := locktest.Start()
	defer stop()

	client := redislock.New(rdb)
	defer client.Close()
	mux := http.NewServeMux()
	mux.Handle("POST /orders/{order}", changeOrder(client, func(r *http.Request) error {
		fmt.Println("changed:", r.PathValue("order"))
		return nil
	}))
	answer := httptest.NewRecorder()
	mux.ServeHTTP(answer, httptest.NewRequest(http.MethodPost, "/orders/7", nil))
	fmt.Println(answer.Code)
	// Output:
	// changed: 7
	// 204
}
