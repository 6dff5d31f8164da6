package fencing_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/fencing"
	"github.com/seed-14de3678/redislock/internal/redistest"
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
	rdb, stop := startRedis()
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
	rdb, stop := startRedis()
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

// A row keeps the number in a column of its own (bigint, not null, 0 in a new row), and the
// statement that writes compares it. If no row is affected nothing was written, because the number
// is stale or there is no such row.
//
// The driver must count the rows that were found. That of MySQL counts the rows that were changed.
// So it returns 0 even when the same holder writes the same values again, unless it is told
// otherwise (clientFoundRows=true).
func Example_sql() {
	// Of *sql.DB, *sql.Tx or *sql.Conn.
	type execer interface {
		ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	}
	update := func(ctx context.Context, db execer, id, left int, fence int64) error {
		result, err := db.ExecContext(ctx,
			`UPDATE stock SET left = $1, fence = $2 WHERE id = $3 AND fence <= $2`, left, fence, id)
		if err != nil {
			return err
		}
		rows, err := result.RowsAffected()
		if err == nil && rows == 0 {
			err = fencing.ErrStale
		}
		return err
	}

	db := &table{9: {left: 10}} // in a program sql.Open
	ctx := context.Background()
	fmt.Println(update(ctx, db, 9, 8, 1760000000000002))
	fmt.Println(update(ctx, db, 9, 9, 1760000000000001))
	fmt.Println("left:", (*db)[9].left)
	// Output:
	// <nil>
	// stale number
	// left: 8
}

// A table does what the one statement of the example does in a database.
type table map[int]row

type row struct {
	left  int
	fence int64
}

func (t table) ExecContext(_ context.Context, _ string, args ...any) (sql.Result, error) {
	left, fence, id := args[0].(int), args[1].(int64), args[2].(int)
	if r, ok := t[id]; !ok || r.fence > fence {
		return driver.RowsAffected(0), nil
	}
	t[id] = row{left, fence}
	return driver.RowsAffected(1), nil
}

// startRedis starts a server inside the test, and a client for it; stop ends both.
var startRedis = redistest.ForExample
