package fencing_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/seed-14de3678/redislock/fencing"
)

// setPieces writes how many pieces of a product are left. The number is the Fence of the lock. It stands in the row:
//
//	CREATE TABLE stock (
//		id     bigint PRIMARY KEY,
//		pieces bigint NOT NULL,
//		fence  bigint NOT NULL DEFAULT 0
//	)
func setPieces(ctx context.Context, db *sql.DB, number int64, id, pieces int) error {
	return fencing.Exec(ctx, db, number,
		`UPDATE stock SET fence = $1, pieces = $2 WHERE id = $3 AND fence <= $1`, pieces, id)
}

// A holder that was paused comes too late, and one whose lock has no number is not let near the database.
func ExampleExec() {
	db := openStock(9, 10) // in a program, sql.Open
	defer db.Close()

	ctx := context.Background()
	fmt.Println(setPieces(ctx, db, 1760000000000002, 9, 8))
	fmt.Println(setPieces(ctx, db, 1760000000000001, 9, 9))
	fmt.Println("not fenced:", errors.Is(setPieces(ctx, db, 0, 9, 7), fencing.ErrInvalidNumber))

	var pieces int
	err := db.QueryRowContext(ctx, `SELECT pieces FROM stock WHERE id = $1`, 9).Scan(&pieces)
	fmt.Println("left:", pieces, err)
	// Output:
	// <nil>
	// fencing: stale number 1760000000000001: no row was changed
	// not fenced: true
	// left: 8 <nil>
}
