package recipes_test

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/fencing"
	"github.com/seed-14de3678/redislock/locktest"
)

// recount writes how many pieces count finds; count is given what stood there.
//
//	CREATE TABLE stock (id bigint PRIMARY KEY, pieces bigint NOT NULL, fence bigint NOT NULL DEFAULT 0)
func recount(ctx context.Context, db *sql.DB, client *redislock.Client, product int64,
	count func(ctx context.Context, pieces int64) (int64, error),
) error {
	lock, opt := []string{fmt.Sprintf("lock:stock:%d", product)}, &redislock.Options{Fenced: true}
	return client.With(ctx, lock, 10*time.Second, opt, func(ctx context.Context) error {
		fence, pieces := redislock.FromContext(ctx).Fence(), int64(0)
		// The number comes first: after that no older holder can change what is read.
		err := fencing.Exec(ctx, db, fence, `UPDATE stock SET fence = $1 WHERE id = $2 AND fence <= $1`, product)
		if err == nil {
			err = db.QueryRowContext(ctx, `SELECT pieces FROM stock WHERE id = $1`, product).Scan(&pieces)
		}
		if err == nil {
			pieces, err = count(ctx, pieces)
		}
		if err != nil {
			return err
		}
		return fencing.Exec(ctx, db, fence, `UPDATE stock SET fence = $1, pieces = $2 WHERE id = $3 AND fence <= $1`, pieces, product)
	})
}

// A product has ten pieces, and two are found to be broken.
func Example_sql() {
	rdb, stop := locktest.Start()
	defer stop()

	client := redislock.New(rdb)
	defer client.Close()
	rows := &rows{of: map[int64]row{9: {"pieces": 10}}}
	db := sql.OpenDB(rows) // in a program, sql.Open
	defer db.Close()

	fmt.Println(recount(context.Background(), db, client, 9, func(_ context.Context, pieces int64) (int64, error) {
		return pieces - 2, nil
	}))
	fmt.Println(rows.stored()["pieces"])
	// Output:
	// <nil>
	// 8
}
