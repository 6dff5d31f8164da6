package fencing

import (
	"context"
	"database/sql"
	"fmt"
)

// Exec runs a statement that writes one row of a database, unless the row has seen a greater number.
// The row keeps the number in a column of its own; the statement compares the number and writes it:
//
//	UPDATE stock SET fence = $1, pieces = $2 WHERE id = $3 AND fence <= $1
//
// The number is the first argument of the statement, and args are those after it. Where parameters
// are plain question marks, the first one is the number in SET, and the number for the comparison is
// given again among args. The db is a [*sql.DB], a [*sql.Tx] or a [*sql.Conn]. A holder that writes
// several rows begins a transaction with Exec, and rolls it back if Exec returns an error.
//
// If no row was changed the error is [ErrStale]: the row has a greater number, or there is no such
// row. A number that no lock gives, such as the zero of a lock that is not fenced, is an
// [ErrInvalidNumber], and nothing is sent. After another error the row may have been written or not.
// The same holder can call Exec again, because equal numbers are admitted.
//
// The driver must count the rows that were found. The driver of MySQL counts rows with new values only.
// So a holder that writes the same values again is taken for stale, unless the driver is told otherwise
// (clientFoundRows=true).
func Exec(ctx context.Context, db interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}, number int64, query string, args ...any,
) error {
	if err := check(number); err != nil {
		return err
	}
	result, err := db.ExecContext(ctx, query, append([]any{number}, args...)...)
	if err != nil {
		return fmt.Errorf("fencing: exec: %w", err)
	}
	rows, err := result.RowsAffected()
	if err != nil {
		return fmt.Errorf("fencing: count the rows that were changed: %w", err)
	}
	if rows < 1 {
		return fmt.Errorf("fencing: %w %d: no row was changed", ErrStale, number)
	}
	return nil
}
