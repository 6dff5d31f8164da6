package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/fencing"
	"github.com/seed-14de3678/redislock/locktest"
)

// Both keys or none, held as long as the function runs.
func Example() {
	rdb, stop := locktest.Start()
	defer stop()

	client, keys := redislock.New(rdb), []string{"lock:order:7", "lock:stock:9"} // rdb is any client of go-redis
	err := client.With(context.Background(), keys, 10*time.Second, nil, func(ctx context.Context) error {
		fmt.Println("order and stock are ours")
		return ctx.Err() // ctx is cancelled if the lock is lost
	})
	if errors.Is(err, redislock.ErrNotObtained) {
		fmt.Println("busy:", err) // redislock: "lock:stock:9" is write-locked, 27s left
	} else if err != nil {
		fmt.Println(err)
	}
	// Output: order and stock are ours
}

// The same with a time to wait, a fencing number, and metadata that a refused caller reads.
func Example_everything() {
	rdb, stop := locktest.Start()
	defer stop()

	ctx := context.Background()
	client := redislock.New(rdb, redislock.WithMetadata(redislock.InstanceMetadata())) // a refused caller reads it
	defer client.Close()

	keys := []string{"lock:order:7", "lock:stock:9"}
	err := client.With(ctx, keys, 10*time.Second, &redislock.Options{
		Wait:   2 * time.Second, // for the lock; the work may take as long as it takes
		Fenced: true,
	}, func(ctx context.Context) error { // ctx is cancelled if the lock is lost
		fmt.Println("order and stock are ours")
		number := redislock.FromContext(ctx).Fence() // greater than all numbers before
		return fencing.Set(ctx, rdb, "stock:9", number, "41 left", 24*time.Hour)
	})
	if errors.Is(err, redislock.ErrNotObtained) {
		fmt.Println("busy:", err) // redislock: "lock:stock:9" is write-locked by host=web-3 pid=812 …, 27s left
	} else if err != nil {
		fmt.Println(err)
	}
	// Output: order and stock are ours
}

// The error of With says that the lock was lost while the function ran, and what the function returned.
func ExampleClient_With() {
	rdb, stop := locktest.Start()
	defer stop()

	client := redislock.New(rdb)
	defer client.Close()

	errHalfway := errors.New("stopped half-way")
	keys := []string{"lock:stock:9"}
	err := client.With(context.Background(), keys, 3*time.Second, nil, func(ctx context.Context) error {
		rdb.Del(ctx, "lock:stock:9") // somebody meddles
		<-ctx.Done()                 // the next renewal finds out
		return errHalfway
	})
	fmt.Println("not obtained:", errors.Is(err, redislock.ErrNotObtained))
	fmt.Println("lost:", errors.Is(err, redislock.ErrLockLost))
	fmt.Println("of the function:", errors.Is(err, errHalfway))
	// Output:
	// not obtained: false
	// lost: true
	// of the function: true
}

func ExampleClient_Obtain() {
	rdb, stop := locktest.Start()
	defer stop()

	ctx := context.Background()
	client := redislock.New(rdb)
	lock, err := client.Obtain(ctx, []string{"lock:order:7", "lock:stock:9"}, time.Minute, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = client.Obtain(ctx, []string{"lock:stock:9", "lock:account:3"}, time.Minute, nil)
	fmt.Println("second:", errors.Is(err, redislock.ErrNotObtained))
	fmt.Println("lock:account:3 exists:", rdb.Exists(ctx, "lock:account:3").Val() == 1)
	fmt.Println("release:", lock.Release(ctx))
	// Output:
	// second: true
	// lock:account:3 exists: false
	// release: <nil>
}

func ExampleClient_ObtainRead() {
	rdb, stop := locktest.Start()
	defer stop()

	ctx := context.Background()
	client := redislock.New(rdb)
	for range 2 {
		lock, err := client.ObtainRead(ctx, []string{"lock:price:9"}, time.Minute, nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		defer lock.Release(ctx)
		fmt.Println("reading")
	}
	_, err := client.Obtain(ctx, []string{"lock:price:9"}, time.Minute, nil)
	fmt.Println("writing:", err == nil)
	// Output:
	// reading
	// reading
	// writing: false
}

// A write lock on the stock and a read lock on its price, in one step.
func ExampleClient_ObtainSet() {
	rdb, stop := locktest.Start()
	defer stop()

	ctx := context.Background()
	client := redislock.New(rdb)
	lock, err := client.ObtainSet(ctx, redislock.Set{Write: []string{"lock:stock:9"}, Read: []string{"lock:price:9"}}, time.Minute, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer lock.Release(ctx)

	_, err = client.ObtainRead(ctx, []string{"lock:price:9"}, time.Minute, nil)
	fmt.Println("another reads the price:", err == nil)
	_, err = client.ObtainRead(ctx, []string{"lock:stock:9"}, time.Minute, nil)
	fmt.Println("another reads the stock:", err == nil)
	// Output:
	// another reads the price: true
	// another reads the stock: false
}

func ExampleObtain() {
	rdb, stop := locktest.Start()
	defer stop()

	ctx := context.Background()
	lock, err := redislock.Obtain(ctx, rdb, []string{"lock:report:daily"}, time.Minute, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(lock.Keys())
	fmt.Println(lock.Release(ctx))
	// Output:
	// [lock:report:daily]
	// <nil>
}

func ExampleNew() {
	rdb, stop := locktest.Start()
	defer stop()

	client := redislock.New(rdb, redislock.WithMaxKeys(2))
	defer client.Close()

	_, err := client.Obtain(context.Background(), []string{"a", "b", "c"}, time.Second, nil)
	fmt.Println(errors.Is(err, &redislock.InvalidError{Argument: "keys"}))
	// Output: true
}

func ExampleConflictError() {
	rdb, stop := locktest.Start()
	defer stop()

	ctx := context.Background()
	client := redislock.New(rdb)
	holder, err := client.Obtain(ctx, []string{"lock:stock:9"}, time.Hour, &redislock.Options{Metadata: "job=import"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer holder.Release(ctx)

	_, err = client.Obtain(ctx, []string{"lock:order:7", "lock:stock:9"}, time.Minute, nil)
	var conflict *redislock.ConflictError
	if errors.As(err, &conflict) {
		fmt.Println(conflict.Key, conflict.Mode, conflict.Metadata, conflict.TTL.Round(time.Minute))
	}
	// Output: lock:stock:9 write job=import 1h0m0s
}

// respond tells an HTTP caller what became of the request.
func respond(w http.ResponseWriter, err error) {
	var conflict *redislock.ConflictError
	switch {
	case err == nil:
		w.WriteHeader(http.StatusNoContent)
	case errors.Is(err, redislock.ErrLockLost): // the work may be done in part, and somebody has to look
		http.Error(w, "interrupted", http.StatusInternalServerError)
	case errors.As(err, &conflict) && conflict.Own: // a mistake of this program
		http.Error(w, "failed", http.StatusInternalServerError)
	case errors.As(err, &conflict) && conflict.TTL >= 0:
		w.Header().Set("Retry-After", "1") // s; not the TTL: with a watchdog it says nothing of when the lock is free
		http.Error(w, "somebody else works on this order", http.StatusConflict)
	case errors.Is(err, redislock.ErrNotObtained), errors.Is(err, redislock.ErrUnknownOutcome):
		http.Error(w, "try again", http.StatusServiceUnavailable)
	default: // bad arguments, missing rights, or an error of the work itself
		http.Error(w, "failed", http.StatusInternalServerError)
	}
}

// An HTTP handler answers according to the error.
func ExampleConflictError_http() {
	rdb, stop := locktest.Start()
	defer stop()

	client := redislock.New(rdb)
	defer client.Close()

	handler := func(w http.ResponseWriter, r *http.Request) {
		respond(w, client.With(r.Context(), []string{"lock:order:7"}, 10*time.Second, nil,
			func(context.Context) error { return nil }))
	}

	first, second := httptest.NewRecorder(), httptest.NewRecorder()
	request := httptest.NewRequest(http.MethodPost, "/orders/7", nil)
	err := client.With(request.Context(), []string{"lock:order:7"}, time.Minute, nil, func(context.Context) error {
		handler(first, request) // while somebody else has the lock
		return nil
	})
	handler(second, request)
	fmt.Println(err, first.Code, first.Header().Get("Retry-After"), second.Code)
	// Output: <nil> 409 1 204
}

func ExampleInstanceMetadata() {
	rdb, stop := locktest.Start()
	defer stop()

	ctx := context.Background()
	lock, err := redislock.Obtain(ctx, rdb, []string{"lock:stock:9"}, time.Minute, &redislock.Options{
		Metadata: redislock.InstanceMetadata(),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer lock.Release(ctx)

	value := rdb.Get(ctx, "lock:stock:9").Val() // what redis-cli GET shows: token|metadata
	_, metadata, _ := strings.Cut(value, "|")
	for field := range strings.FieldsSeq(metadata) {
		name, _, _ := strings.Cut(field, "=")
		fmt.Println(name)
	}
	// Output:
	// host
	// pid
	// prog
	// since
}

func ExampleClient_Inspect() {
	rdb, stop := locktest.Start()
	defer stop()

	ctx := context.Background()
	client := redislock.New(rdb)
	lock, err := client.Obtain(ctx, []string{"lock:order:7"}, time.Minute, &redislock.Options{Metadata: "job=import"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer lock.Release(ctx)

	states, err := client.Inspect(ctx, []string{"lock:order:7", "lock:stock:9"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, state := range states {
		fmt.Println(state.Key, state.Mode)
		for _, holder := range state.Holders {
			fmt.Println(" ", holder.Metadata)
		}
	}
	// Output:
	// lock:order:7 write
	//   job=import
	// lock:stock:9 free
}

// A lock is obtained here and released elsewhere, by a process that was given the token.
func ExampleClient_Attach() {
	rdb, stop := locktest.Start()
	defer stop()

	ctx := context.Background()
	keys := []string{"lock:upload:5"}
	lock, err := redislock.New(rdb).Obtain(ctx, keys, time.Minute, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	token := lock.Token() // hand it over in secret: it is all that is needed

	elsewhere := redislock.New(rdb).Attach(keys, token)
	fmt.Println(elsewhere.Release(ctx))
	fmt.Println(errors.Is(lock.Release(ctx), redislock.ErrLockNotHeld))
	// Output:
	// <nil>
	// true
}
