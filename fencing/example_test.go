package fencing_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/fencing"
	"github.com/seed-14de3678/redislock/locktest"
)

// The holder of a lock was paused, and another has held it since. The numbers are those that
// Lock.Fence returns for locks that were obtained with Options.Fenced.
func Example() {
	var guard fencing.Guard
	ctx := context.Background()
	stock := 10
	sell := func(fence int64, left int) error {
		return guard.Do(ctx, "stock:9", fence, func() error {
			stock = left
			return nil
		})
	}

	fmt.Println(sell(1760000000000002, 8))
	fmt.Println(sell(1760000000000001, 9)) // wakes up too late
	fmt.Println("left:", stock)
	// Output:
	// <nil>
	// fencing: stale number 1760000000000001 for "stock:9": it has seen 1760000000000002
	// left: 8
}

func ExampleGuard_Do() {
	var guard fencing.Guard
	ctx, cancel := context.WithTimeout(context.Background(), time.Second) // bounds the wait for its turn
	defer cancel()

	fence := int64(1760000000000001) // lock.Fence()
	err := guard.Do(ctx, "robot:1", fence, func() error {
		fmt.Println("arm moves")
		return nil
	})
	fmt.Println(err)
	// Output:
	// arm moves
	// <nil>
}

// After a restart the Guard is told what it should have seen.
func ExampleGuard_Admit() {
	stored := map[string]int64{"stock:9": 1760000000000002} // kept with the data
	guard := fencing.Guard{Limit: 100_000}
	for resource, newest := range stored {
		if err := guard.Admit(resource, newest); err != nil {
			fmt.Println(err)
			return
		}
	}

	err := guard.Admit("stock:9", 1760000000000001)
	fmt.Println(errors.Is(err, fencing.ErrStale))
	// Output: true
}

func ExampleGuard_Handler() {
	var guard fencing.Guard
	write := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux := http.NewServeMux()
	mux.Handle("PUT /stock/{id}", guard.Handler(write, func(r *http.Request) string { return r.PathValue("id") }))

	for _, fence := range []int64{1760000000000002, 1760000000000001, 0} {
		r := httptest.NewRequest(http.MethodPut, "/stock/9", http.NoBody)
		fencing.SetHeader(r.Header, fence)
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		fmt.Println(w.Code, http.StatusText(w.Code))
	}
	// Output:
	// 204 No Content
	// 409 Conflict
	// 400 Bad Request
}

// What the holder of a lock sends.
func ExampleSetHeader() {
	r := httptest.NewRequest(http.MethodPut, "/stock/9", http.NoBody)
	fencing.SetHeader(r.Header, 1760000000000001) // lock.Fence()
	fmt.Println(r.Header.Get(fencing.Header))
	// Output: 1760000000000001
}

// A service that keeps the numbers itself, for example in its database.
func ExampleFromHeader() {
	r := httptest.NewRequest(http.MethodPut, "/stock/9", http.NoBody)
	_, err := fencing.FromHeader(r.Header)
	fmt.Println(errors.Is(err, fencing.ErrInvalidNumber))

	r.Header.Set("Fencing-Number", "1760000000000001")
	fmt.Println(fencing.FromHeader(r.Header))
	// Output:
	// true
	// 1760000000000001 <nil>
}

func ExampleSet() {
	rdb, stop := locktest.Start()
	defer stop()

	ctx := context.Background()
	fmt.Println(fencing.Set(ctx, rdb, "price:9", 1760000000000002, "12.50", 24*time.Hour))

	err := fencing.Set(ctx, rdb, "price:9", 1760000000000001, "11.90", 24*time.Hour)
	var stale *fencing.StaleError
	if errors.As(err, &stale) {
		fmt.Println(stale.Resource, "is", stale.Newest-stale.Number, "ahead")
	}
	// Output:
	// <nil>
	// price:9 is 1 ahead
}

func ExampleGet() {
	rdb, stop := locktest.Start()
	defer stop()

	ctx := context.Background()
	_, _, err := fencing.Get(ctx, rdb, "price:9")
	fmt.Println(errors.Is(err, redis.Nil))

	if err := fencing.Set(ctx, rdb, "price:9", 1760000000000001, "12.50", 0); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(fencing.Get(ctx, rdb, "price:9"))
	// Output:
	// true
	// 12.50 1760000000000001 <nil>
}
