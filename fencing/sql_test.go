package fencing_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-14de3678/redislock/fencing"
)

// A stock is a database with one row of the table of the Example, and its driver.
type stock struct {
	mu    sync.Mutex
	row   stockRow
	sent  []string // statements with their arguments
	fails error    // of each statement
	blind bool     // it counts no rows
}

type stockRow struct{ id, pieces, fence int64 }

// openStock returns a database of one product.
func openStock(id, pieces int64) *sql.DB {
	return sql.OpenDB(&stock{row: stockRow{id: id, pieces: pieces}})
}

func (s *stock) Connect(context.Context) (driver.Conn, error) { return stockConn{s}, nil }
func (s *stock) Driver() driver.Driver                        { return nil }

// A stockConn is a connection, and every transaction of it.
type stockConn struct{ *stock }

func (c stockConn) Prepare(string) (driver.Stmt, error) { return nil, errors.ErrUnsupported }
func (c stockConn) Begin() (driver.Tx, error)           { return c, nil }
func (c stockConn) Commit() error                       { return nil }
func (c stockConn) Rollback() error                     { return nil }
func (c stockConn) Close() error                        { return nil }

// ExecContext does what a database does with the statement of setPieces: it compares and writes in one step.
func (c stockConn) ExecContext(_ context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fence, pieces, id := args[0].Value.(int64), args[1].Value.(int64), args[2].Value.(int64)
	c.sent = append(c.sent, fmt.Sprintln(query, fence, pieces, id))
	switch {
	case c.fails != nil:
		return nil, c.fails
	case c.blind:
		return driver.ResultNoRows, nil
	case c.row.id != id || !strings.HasSuffix(query, "WHERE id = $3 AND fence <= $1") || c.row.fence > fence:
		return driver.RowsAffected(0), nil
	}
	c.row.pieces, c.row.fence = pieces, fence
	return driver.RowsAffected(1), nil
}

// QueryContext returns how many pieces there are.
func (c stockConn) QueryContext(context.Context, string, []driver.NamedValue) (driver.Rows, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return &stockRows{pieces: c.row.pieces}, nil
}

// stockRows are one row with the pieces.
type stockRows struct {
	pieces int64
	read   bool
}

func (r *stockRows) Columns() []string { return []string{"pieces"} }
func (r *stockRows) Close() error      { return nil }

func (r *stockRows) Next(to []driver.Value) error {
	if r.read {
		return io.EOF
	}
	to[0], r.read = r.pieces, true
	return nil
}

func TestExec(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		number int64
		id     int
		want   error
	}{
		"newer":       {base + 1, 9, nil},
		"same":        {base, 9, nil},
		"older":       {base - 1, 9, fencing.ErrStale},
		"no such row": {base + 1, 8, fencing.ErrStale},
		"zero":        {0, 9, fencing.ErrInvalidNumber},
		"negative":    {-1, 9, fencing.ErrInvalidNumber},
		"not exact":   {1 << 53, 9, fencing.ErrInvalidNumber},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &stock{row: stockRow{id: 9, pieces: 10, fence: base}}
			db := sql.OpenDB(s)
			defer db.Close()

			wantIs(t, setPieces(t.Context(), db, c.number, c.id, 7), c.want)
			want := s.row
			if c.want == nil {
				want = stockRow{id: 9, pieces: 7, fence: c.number}
			}
			if got := s.row; got != want {
				t.Errorf("got row %v, want %v", got, want)
			}
			var sent []string
			if !errors.Is(c.want, fencing.ErrInvalidNumber) {
				sent = append(sent, fmt.Sprintln("UPDATE stock SET fence = $1, pieces = $2 WHERE id = $3 AND fence <= $1", c.number, 7, c.id))
			}
			if diff := cmp.Diff(sent, s.sent); diff != "" {
				t.Errorf("sent (-want +got):\n%s", diff)
			}
			if opened := db.Stats().OpenConnections; opened != len(sent) {
				t.Errorf("got %d connections, want %d", opened, len(sent))
			}
		})
	}
}

// Only a count of rows says that the number is stale. Whatever else goes wrong is passed on.
func TestExecPassesErrorsOn(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for name, s := range map[string]*stock{"statement": {fails: broken}, "count": {blind: true}} {
		db := sql.OpenDB(s)
		defer db.Close()
		err := setPieces(t.Context(), db, base, 9, 7)
		if err == nil || errors.Is(err, fencing.ErrStale) || s.fails != nil && !errors.Is(err, s.fails) {
			t.Errorf("%s: got error %v", name, err)
		}
	}
	db := openStock(9, 10)
	defer db.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	wantIs(t, setPieces(ctx, db, base, 9, 7), context.Canceled)
}

// The statement runs in a transaction or on a connection of the caller's as well, with args that stay as they are.
func TestExecIn(t *testing.T) {
	t.Parallel()
	s := &stock{row: stockRow{id: 9, pieces: 10, fence: base}}
	db := sql.OpenDB(s)
	defer db.Close()
	const query = "UPDATE stock SET fence = $1, pieces = $2 WHERE id = $3 AND fence <= $1"
	args := append(make([]any, 0, 10), 7, 9)

	tx, err := db.BeginTx(t.Context(), nil)
	wantIs(t, err, nil)
	wantIs(t, fencing.Exec(t.Context(), tx, base+1, query, args...), nil)
	wantIs(t, fencing.Exec(t.Context(), tx, base, query, args...), fencing.ErrStale)
	wantIs(t, tx.Rollback(), nil)

	conn, err := db.Conn(t.Context())
	wantIs(t, err, nil)
	defer conn.Close()
	wantIs(t, fencing.Exec(t.Context(), conn, base+2, query, args...), nil)
	if diff := cmp.Diff([]any{7, 9}, args); diff != "" {
		t.Errorf("args (-want +got):\n%s", diff)
	}
}
